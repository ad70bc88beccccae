"""Surface metrics whose references are joined, or replaced, by paraphrases (Bawden et al. 2020): parBLEU, parchrF++."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from prism_mt._core.errors import PrismError
from prism_mt.generate.cached import StoredLists
from prism_mt.generate.generator import Generator
from prism_mt.generate.nbest import open_lists
from prism_mt.generate.options import SearchConfig
from prism_mt.metrics import sacrebleu
from prism_mt.metrics.base import Metric, Segment, SegmentScore, Side
from prism_mt.metrics.sacrebleu import SurfaceMetric

_CHUNK = 256
_GROUPS = 10


@dataclass(frozen=True)
class ParaphraseOptions:
    """Which paraphrases join the references."""

    count: int | None = None
    """Of each reference; None means 5, or 1 where they replace it."""
    replace: bool = False
    """Leave the original reference out."""
    file: Path | None = None
    """JSONL of `prism paraphrase` with a line per segment; None generates them with the model."""

    def __post_init__(self) -> None:
        if self.count is not None and self.count < 0:
            raise PrismError(f"the number of paraphrases cannot be below 0, it is {self.count}")
        if self.replace and self.count == 0:
            raise PrismError("--replace-reference leaves no reference when --paraphrases is 0")

    @property
    def number(self) -> int:
        """Paraphrases per reference."""
        if self.count is not None:
            return self.count
        return 1 if self.replace else 5


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


class ReadParaphrases:
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
                f"{self._name} has paraphrases of one reference a segment: give a single --ref with it"
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


class ParaphrasedMetric:
    """A metric that sees paraphrases among its references."""

    needs: frozenset[Side] = frozenset({"ref"})

    def __init__(
        self, name: str, metric: Metric, options: ParaphraseOptions, paraphrases: Paraphrases | None
    ) -> None:
        self.name = name
        self._metric = metric
        self._options = options
        self._paraphrases = paraphrases

    def score(self, segments: Iterable[Segment]) -> Iterator[SegmentScore]:
        """Scores against the larger set of references."""
        return self._metric.score(self._with_paraphrases(segments))

    def aggregate(self, totals: Sequence[float]) -> float:
        """As the metric itself does."""
        return self._metric.aggregate(totals)

    def signature(self) -> str:
        """The metric's own signature, and whose paraphrases how many."""
        own = self._metric.signature().partition("|")[2]
        origin = self._paraphrases.origin if self._paraphrases else "none"
        way = "instead" if self._options.replace else "added"
        return f"{self.name}|par:{self._options.number}-{way}|by:{origin}|{own}"

    def _with_paraphrases(self, segments: Iterable[Segment]) -> Iterator[Segment]:
        if self._paraphrases is None:
            yield from segments
            return
        rest, last = iter(segments), 0
        while chunk := list(itertools.islice(rest, _CHUNK)):
            found = self._paraphrases.of(chunk, self._options.number)
            for segment, texts in zip(chunk, found, strict=True):
                last = segment.number
                original = () if self._options.replace else segment.references
                yield replace(segment, references=(*original, *texts))
        self._paraphrases.finish(last)


def paraphrased(
    name: str,
    metric: Metric,
    language: str,
    options: ParaphraseOptions,
    make: Callable[[SearchConfig], Generator],
) -> ParaphrasedMetric:
    """A metric with paraphrases from a file, or by the generator that `make` gives for a search."""
    paraphrases: Paraphrases | None = None
    if options.file is not None:
        paraphrases = ReadParaphrases(options.file)
    elif options.number:
        if not language:
            raise PrismError("paraphrases need the language of the references: give --lang XX")
        paraphrases = GeneratedParaphrases(make(diverse_search(options.number)), language)
    return ParaphrasedMetric(name, metric, options, paraphrases)


def diverse_search(count: int) -> SearchConfig:
    """Diverse beam search with 10 groups of 3, more only for more paraphrases: lists for other counts are the same."""
    beam = max(30, -(-count // _GROUPS) * _GROUPS)
    return SearchConfig(method="diverse", n=beam, beam=beam, groups=_GROUPS)


def bleu(language: str) -> SurfaceMetric:
    """BLEU as parBLEU has it: sacreBLEU's defaults, for sentences with exponential smoothing only."""
    from sacrebleu.metrics.bleu import BLEU

    sacrebleu.bleu(language)  # says what to install where the language needs a tokeniser that is missing
    metric = BLEU(trg_lang=language)
    return SurfaceMetric("bleu", metric, metric)


def chrf_plus_plus() -> SurfaceMetric:
    """chrF++ as parchrF++ has it: character 6-grams, single words, and recall three times as important."""
    from sacrebleu.metrics.chrf import CHRF

    metric = CHRF(char_order=6, word_order=1, beta=3)
    return SurfaceMetric("chrf++", metric, metric)
