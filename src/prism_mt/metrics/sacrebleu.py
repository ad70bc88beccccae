"""BLEU, chrF, chrF++ and TER from sacreBLEU behind our interface."""

import copy
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from prism_mt._core.errors import PrismError
from prism_mt.metrics.base import Segment, SegmentScore, Side

_CHUNK = 256


class SurfaceMetric:
    """One metric of sacreBLEU; its per-segment counts give both segment and system scores."""

    needs: frozenset[Side] = frozenset({"ref"})

    def __init__(self, name: str, corpus: Any, sentence: Any) -> None:
        self.name = name
        self._corpus = corpus
        self._sentence = sentence
        self._references = 0

    def score(self, segments: Iterable[Segment]) -> Iterator[SegmentScore]:
        """Counts are taken chunk by chunk; references that outputs of a chunk share are counted once."""
        rest = iter(segments)
        counter = copy.copy(self._corpus)  # of this call alone: others may score at the same time
        while chunk := list(itertools.islice(rest, _CHUNK)):
            self._references = len(chunk[0].references)
            known = {references: self._counts(references) for references in {one.references for one in chunk}}
            counter._ref_cache = [known[segment.references] for segment in chunk]
            counts = counter._extract_corpus_statistics([segment.hypothesis for segment in chunk], None)
            for statistics in counts:
                yield SegmentScore(float(self._sentence._compute_score_from_stats(statistics).score), statistics)

    def _counts(self, references: Sequence[str]) -> Any:
        """What sacreBLEU keeps of the references of one segment."""
        texts = [self._corpus._preprocess_segment(reference) for reference in references]
        return self._corpus._extract_reference_info(texts)

    def aggregate(self, totals: Sequence[float]) -> float:
        """sacreBLEU's corpus score of the added counts."""
        if self.name != "ter":
            totals = [round(total) for total in totals]
        return float(self._corpus._compute_score_from_stats(totals).score)

    def corpus_score(self, hypotheses: Sequence[str], references: Sequence[str]) -> float:
        """The score of a short list of outputs with one reference each."""
        return float(self._corpus.corpus_score(list(hypotheses), [list(references)]).score)

    def signature(self) -> str:
        """sacreBLEU's own signature behind our name, so that numbers can be compared with its."""
        self._corpus.num_refs = self._references or 1
        return f"{self.name}|{self._corpus.get_signature().format()}"


def bleu(language: str) -> SurfaceMetric:
    """BLEU with sacreBLEU's defaults and its tokeniser for the language; sentences with effective order."""
    from sacrebleu.metrics.bleu import BLEU

    try:
        corpus = BLEU(trg_lang=language)
        sentence = BLEU(trg_lang=language, effective_order=True)
    except (ImportError, RuntimeError, SystemExit) as error:
        raise PrismError(
            f"BLEU for {language} needs a tokeniser that is not installed: pip install 'sacrebleu[{language}]'"
        ) from error
    return SurfaceMetric("bleu", corpus, sentence)


def chrf(language: str) -> SurfaceMetric:
    """chrF2 with character 6-grams."""
    from sacrebleu.metrics.chrf import CHRF

    return SurfaceMetric("chrf", CHRF(), CHRF())


def chrf_plus_plus(language: str) -> SurfaceMetric:
    """chrF2++ with character 6-grams and word bigrams."""
    from sacrebleu.metrics.chrf import CHRF

    return SurfaceMetric("chrf++", CHRF(word_order=2), CHRF(word_order=2))


def ter(language: str) -> SurfaceMetric:
    """Translation edit rate; lower is better."""
    from sacrebleu.metrics.ter import TER

    asian = language in ("zh", "ja")
    return SurfaceMetric("ter", TER(asian_support=asian), TER(asian_support=asian))
