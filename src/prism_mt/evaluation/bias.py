"""Does a paraphraser prefer copies? Scores of beam output, copies and human paraphrases, and by similarity."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments, is_human
from prism_mt.evaluation.readers.fields import number, records
from prism_mt.metrics.base import Scorer, Segment

_REFERENCE = ("reference", "ref")


@dataclass(frozen=True)
class Paraphrase:
    """A possible paraphrase of a reference; `kind` is its origin (beam, copy, human)."""

    reference: str
    text: str
    kind: str
    score: float | None = None


@dataclass(frozen=True)
class Summary:
    """Mean score of one kind of paraphrases, and their BLEU against the references."""

    kind: str
    count: int
    score: float
    bleu: float


@dataclass(frozen=True)
class Bin:
    """Paraphrases whose sentence BLEU lies in a range (upper end excluded except in the last bin); NaN if empty."""

    low: float
    high: float
    count: int
    score: float


def read_paraphrases(path: Path) -> list[Paraphrase]:
    """Read a table with columns reference, hypothesis, kind and optionally score, or reference and one text per column.

    In the second form, a column whose name starts with `beam` holds beam output; all others hold human paraphrases.
    """
    found = []
    for where, row in records(path):
        reference = next((row[name] for name in _REFERENCE if name in row), None)
        if reference is None:
            raise PrismError(f"{where}: no column reference; the columns are {', '.join(row)}")
        if "kind" in row and "hypothesis" in row:
            score = number(row.get("score"), where)
            found.append(Paraphrase(reference, row["hypothesis"], row["kind"], score))
            continue
        for name, text in row.items():
            if name not in _REFERENCE:
                found.append(Paraphrase(reference, text, "beam" if name.startswith("beam") else "human"))
    if not found:
        raise PrismError(f"{path} has no paraphrases: it is empty, or has a header only")
    return found


def outputs_as_paraphrases(judgments: Judgments, reference: str) -> list[Paraphrase]:
    """Outputs of all systems, judged or not, paired with the reference: texts of every degree of similarity."""
    if judgments.texts is None:
        raise PrismError(f"{judgments.place} has no texts: name a file that has them")
    references = judgments.texts.references[reference]
    return [
        Paraphrase(given, output, "system")
        for system, outputs in judgments.texts.outputs.items()
        for given, output in zip(references, outputs, strict=True)
        if not is_human(system) and given is not None and output is not None
    ]


def with_copies(paraphrases: Sequence[Paraphrase]) -> list[Paraphrase]:
    """Add a copy of every reference unless there are copies already."""
    if any(paraphrase.kind == "copy" for paraphrase in paraphrases):
        return list(paraphrases)
    references = dict.fromkeys(paraphrase.reference for paraphrase in paraphrases)
    return [*paraphrases, *(Paraphrase(text, text, "copy") for text in references)]


def with_beams(paraphrases: Sequence[Paraphrase], beams: Callable[[list[str]], Iterable[str]]) -> list[Paraphrase]:
    """Add the best search result for every reference unless the table has beam output."""
    if any(paraphrase.kind == "beam" for paraphrase in paraphrases):
        return list(paraphrases)
    references = list(dict.fromkeys(paraphrase.reference for paraphrase in paraphrases))
    found = zip(references, beams(references), strict=True)
    return [*(Paraphrase(reference, text, "beam") for reference, text in found), *paraphrases]


def score_paraphrases(paraphrases: Sequence[Paraphrase], scorer: Scorer) -> list[Paraphrase]:
    """Score every text given its reference; the metric should use only that direction."""
    segments = (
        Segment(item.text, (item.reference,), number=place) for place, item in enumerate(paraphrases, start=1)
    )
    results = scorer.score(segments)
    return [replace(item, score=result.score) for item, result in zip(paraphrases, results, strict=True)]


def summarize(paraphrases: Sequence[Paraphrase]) -> list[Summary]:
    """Summarize each kind, in order of appearance."""
    from sacrebleu.metrics.bleu import BLEU

    summaries = []
    for kind in dict.fromkeys(paraphrase.kind for paraphrase in paraphrases):
        chosen = [paraphrase for paraphrase in paraphrases if paraphrase.kind == kind]
        scores = [_score(paraphrase) for paraphrase in chosen]
        bleu = BLEU().corpus_score([item.text for item in chosen], [[item.reference for item in chosen]])
        summaries.append(Summary(kind, len(chosen), float(np.mean(scores)), bleu.score))
    return summaries


def score_by_bleu(paraphrases: Sequence[Paraphrase], bins: int = 10) -> list[Bin]:
    """Mean score in uniform bins of sentence BLEU between 0 and 100."""
    from sacrebleu.metrics.bleu import BLEU

    sentence = BLEU(effective_order=True)
    bleu = np.array([sentence.sentence_score(item.text, [item.reference]).score for item in paraphrases])
    scores = np.array([_score(item) for item in paraphrases])
    place = np.minimum((bleu / 100 * bins).astype(np.int64), bins - 1)
    result = []
    for index in range(bins):
        inside = scores[place == index] if len(scores) else scores
        mean = float(inside.mean()) if len(inside) else float("nan")
        result.append(Bin(100 * index / bins, 100 * (index + 1) / bins, len(inside), mean))
    return result


def _score(paraphrase: Paraphrase) -> float:
    if paraphrase.score is None:
        raise PrismError(
            f"a paraphrase of kind {paraphrase.kind!r} has no score: add a column score, or name a model"
        )
    return paraphrase.score
