"""Metrics whose references are joined or replaced by paraphrases (Bawden et al. 2020): parBLEU, parchrF++, parESIM."""

import itertools
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from prism_mt._core.errors import PrismError
from prism_mt._core.options import option
from prism_mt.generate.cached import StoredLists
from prism_mt.generate.generator import Generator
from prism_mt.generate.nbest import open_lists
from prism_mt.generate.options import Method, SearchConfig
from prism_mt.metrics.base import REF, Languages, Metric, Scorer, Segment, SegmentScore, UsesModel
from prism_mt.metrics.learned import Learned
from prism_mt.metrics.registry import register
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.sacrebleu import Bleu, Chrf

_CHUNK = 256
_GROUPS = 10


@dataclass(frozen=True, kw_only=True)
class Paraphrased(UsesModel):
    """A metric that sees paraphrases among its references."""

    served = False

    needs = REF
    needs_language = True

    paraphrases: int | None = option(
        "paraphrases of each reference (default: 5, or 1 with --replace-reference)", None, metavar="N", low=0
    )
    replace_reference: bool = option("paraphrases instead of the reference", False)
    paraphrase_file: Path | None = option(
        "paraphrases as `prism paraphrase --format jsonl` writes them, a line per segment "
        "(default: made by the model and kept in the cache)",
        None,
        metavar="FILE",
    )
    paraphrase_method: Method = option("search that makes paraphrases", "diverse")
    paraphrase_beam: int | None = option(
        "beam of that search; the first N of its list are taken (default: 30, or what N needs)",
        None,
        metavar="B",
        low=1,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.replace_reference and self.paraphrases == 0:
            raise PrismError("replace_reference leaves no reference when paraphrases is 0")

    @property
    def count(self) -> int:
        """Paraphrases per reference."""
        if self.paraphrases is not None:
            return self.paraphrases
        return 1 if self.replace_reference else 5

    @property
    @abstractmethod
    def plain(self) -> Metric:
        """The metric without paraphrases."""

    @property
    def lower_is_better(self) -> bool:  # type: ignore[override]
        """As the plain metric."""
        return self.plain.lower_is_better

    def aggregate(self, totals: Sequence[float]) -> float:
        """Aggregate as the plain metric does."""
        return self.plain.aggregate(totals)

    def parts(self, totals: Sequence[float]) -> Mapping[str, float]:
        """Take a score apart as the plain metric does."""
        return self.plain.parts(totals)

    def open(self, runtime: Runtime, languages: Languages) -> Scorer:
        """Open the plain metric, and the model unless a file has the paraphrases."""
        paraphrases: Paraphrases | None = None
        if self.paraphrase_file is not None:
            paraphrases = FileParaphrases(self.paraphrase_file)
        elif self.count:
            generator = self._generator(runtime)
            paraphrases = GeneratedParaphrases(generator, languages.target)
        return ParaphrasedScorer(self, self.plain.open(runtime, languages), paraphrases)

    def search(self) -> SearchConfig:
        """Return the search; as long as it suffices the beam stays the same, so that lists for other counts do, too."""
        groups = _GROUPS if self.paraphrase_method == "diverse" else 1
        beam = self.paraphrase_beam or max(30, -(-self.count // groups) * groups)
        if beam < self.count:
            raise PrismError(f"a beam of {beam} cannot give {self.count} paraphrases: give a larger one")
        return SearchConfig(method=self.paraphrase_method, n=beam, beam=beam, groups=_GROUPS)

    def _generator(self, runtime: Runtime) -> Generator:
        search = self.search()
        # Searches that CTranslate2 lacks are what makes paraphrases.
        config = replace(
            runtime.config, engine="torch", precision="float32", workers=None, batch_tokens=None, ray=None
        )
        return runtime.share(
            ("generator", self.model, search), lambda: Generator(runtime.model(self.model), config, search)
        )


@register("parbleu")
@dataclass(frozen=True, kw_only=True)
class ParBleu(Paraphrased):
    """BLEU with paraphrases among the references."""

    @property
    def plain(self) -> Metric:
        """BLEU; of sentences with exponential smoothing only."""
        return Bleu(effective_order=False)


@register("parchrf++")
@dataclass(frozen=True, kw_only=True)
class ParChrf(Paraphrased):
    """chrF3++ (single words, epsilon smoothing) with paraphrases among the references."""

    @property
    def plain(self) -> Metric:
        """chrF++ as the paper's tool computes it: recall counts three times, each order has an epsilon."""
        return Chrf(word_order=1, beta=3, eps_smoothing=True)


@register("parlearned")
@dataclass(frozen=True, kw_only=True)
class ParaphrasedLearned(Paraphrased):
    """A learned metric, averaged over the reference and its paraphrases (`par:FOLDER`)."""

    folder: Path = option("learned: folder that `prism metric train` has written", metavar="DIR")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.plain.needs != REF:
            raise PrismError(f"{self.folder} compares with sources: there are no references to paraphrase")

    @property
    def plain(self) -> Metric:
        """The learned metric."""
        return Learned(folder=self.folder, model=self.model)

    @property
    def label(self) -> str:
        """As it was asked for."""
        return f"par:{self.folder}"


class ParaphrasedScorer(Scorer):
    """Adds paraphrases to the references of another scorer."""

    def __init__(self, metric: Paraphrased, scorer: Scorer, paraphrases: "Paraphrases | None") -> None:
        self._metric, self._scorer, self._paraphrases = metric, scorer, paraphrases

    def score(self, segments: Iterable[Segment], tokens: bool = False) -> Iterator[SegmentScore]:
        """Score against the larger set of references."""
        return self._scorer.score(self._with_paraphrases(segments), tokens)

    def signature(self, references: int = 1) -> str:
        """The metric's own signature, and whose paraphrases how many."""
        metric = self._metric
        number = metric.count * references + (0 if metric.replace_reference else references)
        own = self._scorer.signature(number).partition("|")[2]
        origin = self._paraphrases.origin if self._paraphrases else "none"
        way = "instead" if metric.replace_reference else "added"
        return f"{metric.name}|par:{metric.count}-{way}|by:{origin}|{own}"

    def _with_paraphrases(self, segments: Iterable[Segment]) -> Iterator[Segment]:
        if self._paraphrases is None:
            yield from segments
            return
        rest, last = iter(segments), 0
        while chunk := list(itertools.islice(rest, _CHUNK)):
            found = self._paraphrases.of(chunk, self._metric.count)
            for segment, texts in zip(chunk, found, strict=True):
                last = segment.number
                original = () if self._metric.replace_reference else segment.references
                yield replace(segment, references=(*original, *texts))
        self._paraphrases.finish(last)


class Paraphrases(Protocol):
    """Where paraphrases come from."""

    origin: str
    """For the signature."""

    def of(self, segments: Sequence[Segment], count: int) -> list[list[str]]:
        """For each segment the first `count` paraphrases of each of its references."""
        ...

    def finish(self, last: int) -> None:
        """All segments have been seen; `last` is the number of the last one."""
        ...


class GeneratedParaphrases:
    """Paraphrases by a model, kept in the user's cache."""

    def __init__(self, generator: Generator, language: str) -> None:
        self._generator = generator
        self._store = StoredLists(generator, generator.route(language, language))
        self.origin = f"{generator.model.spec.name or 'model'}@{generator.model.digest[:12]}"
        self.origin += f"-{generator.options.signature()}"

    def of(self, segments: Sequence[Segment], count: int) -> list[list[str]]:
        """Generates what is not in the cache."""
        where: dict[str, str] = {}
        for segment in segments:
            files = segment.origin.references or ("reference",) * len(segment.references)
            for text, file in zip(segment.references, files, strict=True):
                where.setdefault(text, f"{file}, line {segment.number}")
        known = self._store.lists(where)
        return [[one.text for text in segment.references for one in known[text][:count]] for segment in segments]

    def finish(self, last: int) -> None:
        """Nothing is left to check, but the whole run can be told of."""
        self._generator.tell_cuts()


class FileParaphrases:
    """Paraphrases from a file, which must have a line for every segment."""

    def __init__(self, path: Path) -> None:
        self._name = str(path)
        self._records = list(open_lists(path))
        self.origin = path.name

    def of(self, segments: Sequence[Segment], count: int) -> list[list[str]]:
        """The lines with the numbers of the segments."""
        return [self._line(segment, count) for segment in segments]

    def finish(self, last: int) -> None:
        """A file that goes on after the last segment belongs to other references."""
        if last != len(self._records):
            raise PrismError(
                f"{self._name} has paraphrases of {len(self._records):,} references, but there are {last:,}"
            )

    def _line(self, segment: Segment, count: int) -> list[str]:
        if len(segment.references) > 1:
            raise PrismError(
                f"{self._name} has paraphrases of one reference a segment: give a single reference with it"
            )
        if segment.number > len(self._records):
            raise PrismError(
                f"{self._name} has paraphrases of {len(self._records):,} references, but there are more"
            )
        source, hypotheses = self._records[segment.number - 1]
        where = f"{self._name}, line {segment.number}"
        if source and source not in segment.references:
            raise PrismError(f"{where} has paraphrases of another text than the reference: {source!r:.80}")
        if len(hypotheses) < count:
            raise PrismError(f"{where} has {len(hypotheses)} paraphrases, but {count} are asked for")
        return [one.text for one in hypotheses[:count]]
