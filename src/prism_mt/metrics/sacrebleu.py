"""BLEU, chrF, chrF++ and TER as sacreBLEU computes them."""

import itertools
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from prism_mt._core.errors import PrismError
from prism_mt._core.options import option
from prism_mt.metrics.base import Languages, Metric, Scorer, Segment, SegmentScore
from prism_mt.metrics.registry import register
from prism_mt.metrics.runtime import Runtime
from prism_mt.text.languages import find_language

_CHUNK = 256
_WORD_ORDER_HELP = "chrF: longest word n-grams (default: 0, chrf++: 2)"
_BETA_HELP = "chrF: weight of recall (default: 2, parchrf++: 3)"
_CASE_HELP = "BLEU and chrF: ignore case"
_SMOOTH_HELP = "BLEU: smoothing of n-gram orders without a match"
_SMOOTH_VALUE_HELP = "BLEU: value for floor (default: 0.1) and add-k smoothing (default: 1)"


@dataclass(frozen=True, kw_only=True)
class SacrebleuMetric(Metric):
    """A sacreBLEU metric; its counts per segment yield both segment and system scores."""

    @abstractmethod
    def corpus_metric(self, language: str) -> Any:
        """Create sacreBLEU's metric for whole systems."""

    def sentence_metric(self, language: str) -> Any:
        """Create sacreBLEU's metric for single segments."""
        return self.corpus_metric(language)

    def open(self, runtime: Runtime, languages: Languages) -> Scorer:
        """Choose the tokenizer for the language."""
        known = find_language(languages.target)
        return SacrebleuScorer(self, known.code if known else languages.target)

    def aggregate(self, totals: Sequence[float]) -> float:
        """sacreBLEU's corpus score of the summed counts."""
        return float(_counts_metric(self)._compute_score_from_stats(list(totals)).score)


@register("bleu")
@dataclass(frozen=True, kw_only=True)
class Bleu(SacrebleuMetric):
    """BLEU, as sacreBLEU computes it."""

    lowercase: bool = option(_CASE_HELP, False)
    tokenize: str | None = option("BLEU: sacreBLEU's tokenizer (default: by language)", None, metavar="NAME")
    smooth_method: Literal["exp", "floor", "add-k", "none"] = option(_SMOOTH_HELP, "exp")
    smooth_value: float | None = option(_SMOOTH_VALUE_HELP, None, metavar="X", low=0)
    max_ngram_order: int = option("BLEU: longest word n-grams", 4, metavar="N", low=1, high=20)
    effective_order: bool = option("BLEU: leave out orders that a segment is too short for", True)

    def open(self, runtime: Runtime, languages: Languages) -> Scorer:
        """Choose the tokenizer; offline, one that sacreBLEU would fetch must be present."""
        if runtime.config.offline:
            _check_fetched(self.tokenize)
        return super().open(runtime, languages)

    def corpus_metric(self, language: str) -> Any:
        """BLEU of whole systems, which always uses all orders."""
        return self._bleu(language, effective_order=False)

    def sentence_metric(self, language: str) -> Any:
        """BLEU of segments."""
        return self._bleu(language, self.effective_order)

    def aggregate(self, totals: Sequence[float]) -> float:
        """sacreBLEU's corpus BLEU, which needs integers."""
        return super().aggregate([round(total) for total in totals])

    def parts(self, totals: Sequence[float]) -> Mapping[str, float]:
        """Precision of every order in percent, brevity penalty, and lengths in words."""
        found = _counts_metric(self)._compute_score_from_stats([round(total) for total in totals])
        precisions = {f"precision_{order}": value for order, value in enumerate(found.precisions, start=1)}
        return precisions | {
            "brevity_penalty": found.bp,
            "length_ratio": found.sys_len / found.ref_len if found.ref_len else 0.0,
            "output_words": found.sys_len,
            "reference_words": found.ref_len,
        }

    def _bleu(self, language: str, effective_order: bool) -> Any:
        from sacrebleu.metrics.bleu import BLEU

        try:
            return BLEU(
                lowercase=self.lowercase,
                tokenize=self.tokenize,
                smooth_method=self.smooth_method,
                smooth_value=self.smooth_value,
                max_ngram_order=self.max_ngram_order,
                effective_order=effective_order,
                trg_lang=language,
            )
        except (ImportError, RuntimeError, SystemExit) as error:
            raise PrismError(
                f"BLEU for {language} needs a tokenizer that is not installed: pip install 'sacrebleu[{language}]'"
            ) from error
        except (AssertionError, KeyError) as error:
            raise PrismError(f"sacreBLEU has no tokenizer {self.tokenize!r}") from error


@register("chrf")
@dataclass(frozen=True, kw_only=True)
class Chrf(SacrebleuMetric):
    """chrF, as sacreBLEU computes it."""

    lowercase: bool = option(_CASE_HELP, False)
    char_order: int = option("chrF: longest character n-grams", 6, metavar="N", low=1, high=20)
    word_order: int = option(_WORD_ORDER_HELP, 0, metavar="N", low=0, high=20)
    beta: int = option(_BETA_HELP, 2, metavar="B", low=1, high=100)
    whitespace: bool = option("chrF: let character n-grams contain spaces", False)
    eps_smoothing: bool = option("chrF: smooth each order with an epsilon, as chrF++.py does", False)

    def corpus_metric(self, language: str) -> Any:
        """Create the metric, the same for systems and segments."""
        from sacrebleu.metrics.chrf import CHRF

        return CHRF(
            char_order=self.char_order,
            word_order=self.word_order,
            beta=self.beta,
            lowercase=self.lowercase,
            whitespace=self.whitespace,
            eps_smoothing=self.eps_smoothing,
        )

    def aggregate(self, totals: Sequence[float]) -> float:
        """sacreBLEU's corpus chrF, which needs integers."""
        return super().aggregate([round(total) for total in totals])


@register("chrf++")
@dataclass(frozen=True, kw_only=True)
class ChrfPlusPlus(Chrf):
    """chrF++ (with word bigrams), as sacreBLEU computes it."""

    word_order: int = option(_WORD_ORDER_HELP, 2, metavar="N", low=0, high=20)


@register("ter")
@dataclass(frozen=True, kw_only=True)
class Ter(SacrebleuMetric):
    """Translation edit rate (lower is better)."""

    lower_is_better = True

    case_sensitive: bool = option("TER: distinguish upper and lower case", False)
    normalized: bool = option("TER: separate punctuation from words first", False)
    no_punct: bool = option("TER: ignore punctuation", False)
    asian_support: bool | None = option("TER: split Chinese and Japanese (default: by language)", None)

    def corpus_metric(self, language: str) -> Any:
        """Create the metric, the same for systems and segments; it ignores case by default, like sacreBLEU."""
        from sacrebleu.metrics.ter import TER

        by_language = language in ("zh", "ja")
        return TER(
            normalized=self.normalized,
            no_punct=self.no_punct,
            asian_support=by_language if self.asian_support is None else self.asian_support,
            case_sensitive=self.case_sensitive,
        )

    def parts(self, totals: Sequence[float]) -> Mapping[str, float]:
        """Edits and the number of reference words."""
        edits, words = totals
        return {"edits": edits, "reference_words": words}


class SacrebleuScorer(Scorer):
    """Counts per segment.

    sacreBLEU exposes its counts only to subclasses, so its protected methods are called here and nowhere else; the
    tests compare the results with its public functions.
    """

    def __init__(self, metric: SacrebleuMetric, language: str) -> None:
        self._metric, self._language = metric, language
        self._corpus = metric.corpus_metric(language)
        self._sentence = metric.sentence_metric(language)

    def score(self, segments: Iterable[Segment], tokens: bool = False) -> Iterator[SegmentScore]:
        """Count chunk by chunk; references shared by outputs of a chunk are counted once."""
        rest = iter(segments)
        while chunk := list(itertools.islice(rest, _CHUNK)):
            known = {
                references: self._reference_counts(references) for references in {s.references for s in chunk}
            }
            for segment in chunk:
                hypothesis = self._corpus._preprocess_segment(segment.hypothesis)
                counts = self._corpus._compute_segment_statistics(hypothesis, known[segment.references])
                yield SegmentScore(float(self._sentence._compute_score_from_stats(counts).score), counts)

    def signature(self, references: int = 1) -> str:
        """sacreBLEU's own signature after our name, so that numbers can be compared with its."""
        metric = self._metric.corpus_metric(self._language)
        metric.num_refs = references
        return f"{self._metric.name}|{metric.get_signature().format()}"

    def _reference_counts(self, references: Sequence[str]) -> Any:
        texts = [self._corpus._preprocess_segment(reference) for reference in references]
        return self._corpus._extract_reference_info(texts)


def _check_fetched(tokenizer: str | None) -> None:
    from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS
    from sacrebleu.utils import SACREBLEU_DIR

    if tokenizer in SPM_MODELS:
        file = Path(SACREBLEU_DIR) / "models" / Path(SPM_MODELS[tokenizer]["url"]).name
        if not file.exists():
            raise PrismError(f"`offline=`: not fetching sacreBLEU's tokenizer {tokenizer}; it belongs at {file}")


@lru_cache(maxsize=64)
def _counts_metric(metric: SacrebleuMetric) -> Any:
    """The metric that computes a score from counts, for which tokenizer and language do not matter."""
    return metric.corpus_metric("")
