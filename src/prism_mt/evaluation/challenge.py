"""Challenge sets: does a metric prefer a good translation to one with a known error?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from prism_mt._core.errors import PrismError
from prism_mt.metrics.base import Metric
from prism_mt.metrics.registry import metric_labels
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.score import score_text
from prism_mt.stats.arrays import Mask, Vector
from prism_mt.text.parallel import Languages, parallel_text
from prism_mt.text.perturb import KINDS, Kind, perturb


@dataclass(frozen=True)
class Contrast:
    """A good and a bad translation of one segment."""

    phenomenon: str
    good: str
    bad: str
    languages: Languages
    reference: str | None = None
    source: str | None = None


@dataclass(frozen=True, eq=False)
class Outcome:
    """Results of one metric on a challenge set."""

    metric: str
    signature: str
    right: Vector
    """For each contrast, 1 if the good translation scores higher, 0 if not (a tie is wrong), NaN if left out."""


@dataclass(frozen=True, eq=False)
class ChallengeResult:
    """How often metrics prefer the good translation."""

    contrasts: tuple[Contrast, ...]
    outcomes: tuple[Outcome, ...]

    @cached_property
    def phenomena(self) -> dict[str, Mask]:
        """Contrasts of each phenomenon, in the order of the set."""
        return _groups([contrast.phenomenon for contrast in self.contrasts])

    @cached_property
    def languages(self) -> dict[str, Mask]:
        """Contrasts by target language."""
        return _groups([contrast.languages.target for contrast in self.contrasts])

    def accuracy(self, outcome: Outcome, chosen: Mask | None = None) -> float:
        """Share of contrasts that a metric gets right; NaN if it has none."""
        right = outcome.right if chosen is None else outcome.right[chosen]
        known = right[~np.isnan(right)]
        return float(known.mean()) if len(known) else float("nan")


def perturbed_contrasts(
    texts: Mapping[str, Sequence[str]],
    languages: Sequence[str] = (),
    *,
    source: str = "en",
    kinds: Sequence[Kind] = KINDS,
    seed: int = 0,
) -> list[Contrast]:
    """Make contrasts from references and their perturbations; `texts` are parallel, by language.

    The source is the same sentence in the language `source`, or in German for that language itself.
    """
    found: list[Contrast] = []
    for language in languages or texts:
        if language not in texts:
            raise PrismError(f"there are no texts in {language}, only in {', '.join(texts)}")
        other = next((one for one in (source, "de", *texts) if one in texts and one != language), "")
        sources = texts[other] if other else None
        for made in perturb(texts[language], language, kinds=kinds, seed=seed):
            own = None if sources is None else sources[made.number]
            found.append(
                Contrast(made.kind, made.original, made.text, Languages(language, other), made.original, own)
            )
    if not found:
        raise PrismError("nothing to perturb: the texts are empty or too short")
    return sorted(found, key=lambda contrast: KINDS.index(contrast.phenomenon))


def run_challenge(contrasts: Sequence[Contrast], metrics: Sequence[Metric], runtime: Runtime) -> ChallengeResult:
    """Score both translations of every contrast.

    Languages that a metric does not support are left out of its outcome; if it supports none, that is an error.
    """
    outcomes = [
        _outcome(contrasts, metric, label, runtime)
        for metric, label in zip(metrics, metric_labels(metrics), strict=True)
    ]
    return ChallengeResult(tuple(contrasts), tuple(outcomes))


def _outcome(contrasts: Sequence[Contrast], metric: Metric, label: str, runtime: Runtime) -> Outcome:
    known = _usable(contrasts, metric, runtime)
    chosen = [contrasts[place] for place in known]
    sides = {"ref": [one.reference for one in chosen], "src": [one.source for one in chosen]}
    given = {side: [text for text in sides[side] if text is not None] for side in metric.needs}
    for side in sorted(metric.needs):
        if len(given[side]) != len(chosen):
            word = "references" if side == "ref" else "sources"
            raise PrismError(f"{metric.label} needs {word}, which some contrasts of this challenge set lack")
    text = parallel_text(
        {"good": [one.good for one in chosen], "bad": [one.bad for one in chosen]},
        given.get("ref"),
        given.get("src"),
    )
    text.count()
    languages = [one.languages for one in chosen]
    scores = score_text(text, [metric], languages, runtime, statistics=False, check_language=False)
    [found] = scores.values()
    right = np.full(len(contrasts), np.nan)
    right[known] = found.higher["good"].segments > found.higher["bad"].segments
    return Outcome(label, found.signature.split(" / ")[0], right)


def _usable(contrasts: Sequence[Contrast], metric: Metric, runtime: Runtime) -> list[int]:
    """Indices of the contrasts in languages that the metric can be opened for."""
    usable: dict[Languages, bool] = {}
    first: PrismError | None = None
    for languages in dict.fromkeys(contrast.languages for contrast in contrasts):
        try:
            metric.open(runtime, languages)
            usable[languages] = True
        except PrismError as error:
            usable[languages] = False
            first = first or error
    if first is not None and not any(usable.values()):
        raise first
    return [place for place, contrast in enumerate(contrasts) if usable[contrast.languages]]


def _groups(names: Sequence[str]) -> dict[str, Mask]:
    array = np.array(names)
    return {name: array == name for name in dict.fromkeys(names)}
