"""Mean log-probability of an output under a language model."""

import hashlib
import itertools
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from prism_mt._core.errors import MissingExtra, PrismError
from prism_mt._core.options import option
from prism_mt.encoders.base import batches_by_length, check_length, reading
from prism_mt.encoders.pretrained import load_pretrained
from prism_mt.metrics.base import HandlesOverlong, Languages, Scorer, Segment, SegmentScore, sign
from prism_mt.metrics.registry import register
from prism_mt.metrics.runtime import Runtime
from prism_mt.models.directory import ModelDirectory, is_model_directory
from prism_mt.text.languages import resolve

if TYPE_CHECKING:
    import torch

_CHUNK = 256
_LOG = logging.getLogger("prism_mt")


Window = tuple[tuple[int, ...], int]
"""Ids, and the index of the first that counts."""


class CausalModel(Protocol):
    """A language model with its tokens."""

    name: str
    limit: int

    def tokens(self, text: str) -> tuple[tuple[int, ...], int]:
        """The whole sequence of ids, including its start, and the index of the first that counts."""
        ...

    def logits(self, ids: "torch.Tensor") -> "torch.Tensor":
        """(B, T) ids → (B, T, V)."""
        ...


class TrainedModel:
    """A language model from `prism train`."""

    def __init__(self, directory: ModelDirectory, language: str) -> None:
        from prism_mt.models.language_model import from_weights

        spec = directory.spec
        self._network = from_weights(spec.architecture, directory.weights())
        self._conventions = spec.conventions
        self._vocabulary = directory.target
        self._tag = (
            spec.languages[resolve(language, spec.languages)] if "target-tag" in spec.conventions.target else None
        )
        self.name = f"{spec.name or 'model'}@{directory.digest[:12]}"
        self.limit = spec.architecture.max_positions

    def tokens(self, text: str) -> tuple[tuple[int, ...], int]:
        """Encode as in training; the language tag does not count."""
        ids = self._conventions.encode_target(self._vocabulary.encode(text), self._tag)
        return ids, 1 + self._conventions.counted(ids).start

    def logits(self, ids: "torch.Tensor") -> "torch.Tensor":
        """(B, T) ids → (B, T, V)."""
        return self._network.project(self._network(ids))


class HuggingFaceModel:
    """A causal language model from a folder; it must not need code of its own, and must have all its weights."""

    def __init__(self, folder: Path) -> None:
        with reading(folder, "a usable language model"):
            self._tokenizer, self._model = load_pretrained(
                folder, "AutoModelForCausalLM", "a Hugging Face language model"
            )
            self._end = self._tokenizer.eos_token_id
            if self._end is None:
                raise PrismError(f"the tokenizer in {folder} has no end-of-text token, which the score includes")
            start = self._tokenizer.bos_token_id
            self._start = self._end if start is None else start
            self.limit = int(self._model.config.max_position_embeddings)
            # Mismatches show up here rather than in the middle of a file.
            rows = self._model.get_input_embeddings().num_embeddings
            if max(len(self._tokenizer), self._start + 1, self._end + 1) > rows:
                raise PrismError(f"{folder}: the tokenizer has {len(self._tokenizer):,} ids, the model {rows:,}")
            import torch

            with torch.inference_mode():
                self.logits(torch.tensor([self.tokens("a test")[0][: self.limit]]))
        digest = hashlib.sha256()
        for name, tensor in sorted(self._model.state_dict().items()):
            digest.update(name.encode() + tensor.float().numpy().tobytes())
        self.name = f"{folder.name}@{digest.hexdigest()[:12]}"

    def tokens(self, text: str) -> tuple[tuple[int, ...], int]:
        """Start, pieces, end; all but the start count."""
        pieces = self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return (self._start, *pieces, self._end), 1

    def logits(self, ids: "torch.Tensor") -> "torch.Tensor":
        """(B, T) ids → (B, T, V)."""
        found: torch.Tensor = self._model(input_ids=ids).logits
        return found


@register("lm")
@dataclass(frozen=True, kw_only=True)
class LanguageModelMetric(HandlesOverlong):
    """Mean log-probability of the output under a language model, regardless of source and reference."""

    served = False

    needs = frozenset()
    needs_language = True

    language_model: Path | None = option("lm: folder of a language model", None, metavar="DIR")

    def open(self, runtime: Runtime, languages: Languages) -> Scorer:
        """Load one of our model directories or a Hugging Face folder."""
        if self.language_model is None:
            raise PrismError("lm needs a language model: set `language_model=` to its folder")
        return LanguageModelScorer(self, open_language_model(self.language_model, languages.target))


class LanguageModelScorer(Scorer):
    """The mean over the pieces and the end of the output."""

    def __init__(self, metric: LanguageModelMetric, model: CausalModel) -> None:
        self._metric, self._model = metric, model

    def score(self, segments: Iterable[Segment], tokens: bool = False) -> Iterator[SegmentScore]:
        """Score chunk by chunk; outputs of similar length are batched together."""
        rest, cut = iter(segments), 0
        while chunk := list(itertools.islice(rest, _CHUNK)):
            sequences = [self._model.tokens(segment.hypothesis) for segment in chunk]
            cut += sum(len(ids) > self._model.limit + 1 for ids, _ in sequences)
            windows = [
                list(self._windows(segment.hypothesis, *sequence))
                for segment, sequence in zip(chunk, sequences, strict=True)
            ]
            yield from (SegmentScore(value) for value in self._means(windows))
        if cut:
            word = "truncated" if self._metric.overlong == "truncate" else "scored in windows"
            _LOG.warning("lm: %d overlong texts were %s", cut, word)

    def signature(self, references: int = 1) -> str:
        """Which model."""
        long = self._metric.overlong_in_signature
        return sign(self._metric.name, model=self._model.name, reduction="mean", log="e", long=long)

    def _means(self, texts: Sequence[Sequence[Window]]) -> list[float]:
        """Average over the counted tokens in all windows of every text."""
        import torch

        windows = [(place, *window) for place, own in enumerate(texts) for window in own]
        sums, counts = [0.0] * len(texts), [0] * len(texts)
        with torch.inference_mode():
            for batch in batches_by_length([len(ids) for _, ids, _ in windows], budget=2048):
                longest = len(windows[batch[0]][1])
                # Tokens after the end are invisible to those before it: any id will do as padding.
                rows = torch.tensor([[*windows[w][1], *[0] * (longest - len(windows[w][1]))] for w in batch])
                scores = self._model.logits(rows[:, :-1]).float().log_softmax(2)
                chosen = scores.gather(2, rows[:, 1:, None])[..., 0].double()
                for row, index in enumerate(batch):
                    place, ids, first = windows[index]
                    sums[place] += float(chosen[row, first - 1 : len(ids) - 1].sum())
                    counts[place] += len(ids) - first
        return [total / count for total, count in zip(sums, counts, strict=True)]

    def _windows(self, text: str, ids: tuple[int, ...], first: int) -> Iterator[Window]:
        """Cut an overlong text according to the policy."""
        if self._metric.overlong == "error":
            check_length(text, len(ids) - 1, self._model.limit, self._model.name)
        size = self._model.limit + 1 - first  # the last id is only predicted
        for start in range(first, len(ids), size):
            yield ids[:first] + ids[start : start + size], first
            if self._metric.overlong == "truncate":
                return


def open_language_model(path: Path, language: str) -> CausalModel:
    """Open one of our model directories or a Hugging Face folder."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtra("the metric lm", "train") from None
    if is_model_directory(path):
        return TrainedModel(ModelDirectory(path), language)
    if not path.is_dir():
        raise PrismError(f"no such language model: {path}")
    return HuggingFaceModel(path)
