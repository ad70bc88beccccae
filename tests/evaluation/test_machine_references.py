"""Machine-translated references: published cells, and the rules on small judgments."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from judging import judged, opened, scored
from metaeval_data import Read

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments, Texts, families_by_name
from prism_mt.evaluation.machine_references import (
    Effect,
    ReferencePlan,
    StudiedMetric,
    StudyLevel,
    StudyOptions,
    digest_ranks,
    error_free,
    study_references,
)
from prism_mt.evaluation.ratings import Error, Ratings
from prism_mt.evaluation.readers.scores import read_scores
from prism_mt.evaluation.scoring import TextScorer, score_texts
from prism_mt.evaluation.sweep import find_metric
from prism_mt.metrics.base import Languages, Metric, Scorer, Segment, SegmentScore
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.sacrebleu import Bleu, Chrf
from prism_mt.metrics.scores import MetricScores

# Vamvas et al. 2023, table A5: segments with a machine-translated reference, and ours, means over pairs of systems.
COUNTS = {
    ("news", "en-de"): (518, 518.1),
    ("news", "zh-en"): (461, 461.3),
    ("ted", "en-de"): (517, 517.3),
    ("ted", "zh-en"): (505, 504.6),
}
METRICS = {
    "BLEU": "SentBLEU",
    "chrF": "ChrF",
    "Prism": "Prism-ref",
    "Prism+FT": "Prism-paper_main_checkpoint1.pt",
    "COMET": "COMET",
}
# System accuracy ×100 with standard references where there are machine-translated ones.
STANDARD_ACCURACY = {
    ("news", "en-de"): {"BLEU": 89.7, "chrF": 87.2, "Prism": 85.9, "Prism+FT": 89.7, "COMET": 79.5},
    ("news", "zh-en"): {"BLEU": 61.5, "chrF": 60.3, "Prism": 61.5, "Prism+FT": 61.5, "COMET": 60.3},
    ("ted", "en-de"): {"BLEU": 66.7, "chrF": 65.4, "Prism": 69.2, "Prism+FT": 66.7, "COMET": 84.6},
    ("ted", "zh-en"): {"BLEU": 64.1, "chrF": 61.5, "Prism": 67.9, "Prism+FT": 62.8, "COMET": 67.9},
}
# Ours is 62.8: one pair of systems more.
DIFFERENT = {("news", "zh-en", "Prism")}
# Segment tau ×100 with standard references; ours within this much of them.
STANDARD_TAU = {
    ("news", "en-de"): ({"BLEU": 8.4, "chrF": 11.1, "Prism": 18.9, "Prism+FT": 24.9, "COMET": 25.1}, 0.06),
    ("news", "zh-en"): ({"BLEU": 15.2, "chrF": 16.7, "Prism": 24.2, "Prism+FT": 26.6, "COMET": 32.1}, 0.35),
    ("ted", "en-de"): ({"BLEU": 13.4, "chrF": 14.3, "Prism": 23.6, "Prism+FT": 26.4, "COMET": 27.3}, 0.1),
    ("ted", "zh-en"): ({"BLEU": 11.0, "chrF": 11.4, "Prism": 18.0, "Prism+FT": 20.2, "COMET": 20.8}, 0.15),
}
# System accuracy ×100 of BLEU and chrF with machine-translated references.
MACHINE_ACCURACY = {
    ("news", "en-de"): {"bleu": 74.4, "chrf": 71.8},
    ("news", "zh-en"): {"bleu": 61.5, "chrf": 56.4},
    ("ted", "en-de"): {"bleu": 35.9, "chrf": 46.2},
    ("ted", "zh-en"): {"bleu": 65.4, "chrf": 66.7},
}
STANDARD_REFERENCE = {
    ("news", "en-de"): "ref-C",
    ("news", "zh-en"): "ref-B",
    ("ted", "en-de"): "ref-A",
    ("ted", "zh-en"): "ref-B",
}
SYSTEMS = StudyOptions(level="systems")
slow = pytest.mark.skipif(
    not os.environ.get("PRISM_SLOW"), reason="takes minutes of sacreBLEU: set PRISM_SLOW=1 to run it"
)


def load(read: Read, domain: str, pair: str) -> Judgments:
    return read(f"wmt21_mqm_{domain}_{pair}.jsonl.xz")[pair]


def published(data: Path, domain: str, pair: str) -> dict[str, StudiedMetric]:
    folder = "tedtalks" if domain == "ted" else domain
    scores = read_scores(data / f"prismft_predictions_wmt21.{folder}_{pair}.json.xz")
    return {name: StudiedMetric(find_metric(scores, full)) for name, full in METRICS.items()}


@pytest.mark.parametrize(("domain", "pair"), list(COUNTS))
def test_published_counts_and_accuracies_with_standard_references(
    read: Read, data: Path, domain: str, pair: str
) -> None:
    metrics = published(data, domain, pair)
    study = study_references(load(read, domain, pair), list(metrics.values()), SYSTEMS)
    printed, ours = COUNTS[domain, pair]
    assert round(study.segments, 1) == ours
    assert round(study.segments) == printed
    assert study.families == {"metricsystem": tuple(f"metricsystem{number}" for number in range(1, 6))}
    for name, effect in zip(metrics, study.effects, strict=True):
        same = round(100 * effect.standard, 1) == STANDARD_ACCURACY[domain, pair][name]
        assert same is ((domain, pair, name) not in DIFFERENT), (name, effect)
        assert np.isnan(effect.machine)


@pytest.mark.parametrize(("domain", "pair"), list(COUNTS))
def test_published_taus_with_standard_references(read: Read, data: Path, domain: str, pair: str) -> None:
    metrics = published(data, domain, pair)
    study = study_references(load(read, domain, pair), list(metrics.values()), StudyOptions(draws=20))
    printed, tolerance = STANDARD_TAU[domain, pair]
    found = {name: 100 * effect.standard for name, effect in zip(metrics, study.effects, strict=True)}
    assert found == {name: pytest.approx(value, abs=tolerance) for name, value in printed.items()}


def computed(judgments: Judgments, reference: str, options: StudyOptions, *metrics: Metric) -> list[float]:
    studied = []
    for metric in metrics:
        scorer = opened(metric, judgments.pair)
        standard = score_texts(scorer, judgments.without_humans(), reference, only_judged=True)
        studied.append(StudiedMetric(standard, scorer))
    return [round(100 * effect.machine, 1) for effect in study_references(judgments, studied, options).effects]


def equal_accuracies(read: Read, domain: str, pair: str) -> set[tuple[str, str, str]]:
    printed = MACHINE_ACCURACY[domain, pair]
    found = computed(load(read, domain, pair), STANDARD_REFERENCE[domain, pair], SYSTEMS, Bleu(), Chrf())
    return {(domain, pair, name) for name, value in zip(printed, found, strict=True) if value == printed[name]}


def test_published_accuracies_with_machine_translated_references(read: Read) -> None:
    expected = {("news", "en-de", "bleu"), ("news", "en-de", "chrf")}
    assert equal_accuracies(read, "news", "en-de") == expected


@slow
def test_six_of_eight_accuracies_with_machine_translated_references_are_as_published(read: Read) -> None:
    assert sum(len(equal_accuracies(read, domain, pair)) for domain, pair in MACHINE_ACCURACY) == 6


def test_segment_tau_of_chrf_with_machine_translated_references(read: Read) -> None:
    # Published: 7.9, one draw. One reference per output gives 7.2, the mean over references of an output's pairs 8.2.
    assert computed(load(read, "ted", "en-de"), "ref-A", StudyOptions(draws=20), Chrf()) == [8.0]


@pytest.mark.parametrize(("domain", "errors"), [("news", 506.5), ("ted", 471.0)])
def test_both_rules_for_error_free_outputs_of_english_russian(read: Read, domain: str, errors: float) -> None:
    judgments = load(read, domain, "en-ru")
    assert round(study_references(judgments, [], SYSTEMS).segments, 1) == errors
    # The official scores are normalized by length to at most 100, so that hardly any is below 0.
    lengths = np.array(
        [[len((text or "x").split()) for text in judgments.texts.outputs[name]] for name in judgments.systems]  # type: ignore[union-attr]
    )
    official = replace(judgments, ratings=Ratings.from_matrix(100 * (1 + judgments.scores / lengths)))
    options = StudyOptions(level="systems", error_free="score")
    printed = {"news": 527, "ted": 511}[domain]
    assert study_references(official, [], options).segments == pytest.approx(printed, abs=2)


@dataclass(frozen=True, kw_only=True)
class Length(Metric):
    """What `Longer` computes."""

    name = "longer"

    def open(self, runtime: Runtime, languages: Languages) -> Scorer:
        raise AssertionError


@dataclass(frozen=True, kw_only=True)
class LengthAsErrors(Length):
    """The same, taken for an error rate."""

    lower_is_better = True


class Longer(Scorer):
    """The longer the output, the better, and even more so the reference; remembers what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def score(self, segments: Iterable[Segment], tokens: bool = False) -> Iterator[SegmentScore]:
        for segment in segments:
            self.asked.append((segment.hypothesis, segment.references[0]))
            yield SegmentScore(len(segment.hypothesis) + 10.0 * len(segment.references[0]), ())

    def signature(self, references: int = 1) -> str:
        return "longer"

    def scorer(self, lower_is_better: bool = False) -> TextScorer:
        return TextScorer(LengthAsErrors() if lower_is_better else Length(), self)


def made() -> Judgments:
    """Three systems and a person; in the last segment only A is free of errors, B was not judged in the second."""
    scores = np.array([[0.0, -1.0, 0.0], [-1.0, np.nan, -5.0], [-5.0, 0.0, -1.0], [0.0, 0.0, 0.0]])
    systems = ("A", "B", "C", "ref-A")
    outputs: dict[str, tuple[str | None, ...]] = {
        name: tuple(name.lower() * (row + 1) for _ in range(3)) for row, name in enumerate(systems)
    }
    texts = Texts(("s",) * 3, {"ref-A": outputs["ref-A"]}, outputs)
    return judged("made", "en-de", systems, ("1", "2", "3"), scores, texts=texts)


def standard(judgments: Judgments) -> MetricScores:
    return scored("longer", judgments.systems, judgments.segments, judgments.scores)


@pytest.mark.parametrize(
    ("level", "standard_result", "machine"), [("segments", 1.0, -0.125), ("systems", 0.0, 1.0)]
)
def test_pairs_share_an_error_free_output_of_a_third_system(
    level: StudyLevel, standard_result: float, machine: float
) -> None:
    judgments, metric = made(), Longer()
    options = StudyOptions(level=level)
    study = study_references(judgments, [StudiedMetric(standard(judgments), metric.scorer())], options)
    # A and B: C in no segment that both were judged in. A and C: B is never free of errors. B and C: A in 1 and 3.
    assert sorted(metric.asked) == [("bb", "a"), ("bb", "a"), ("ccc", "a"), ("ccc", "a")]
    assert study.segments == pytest.approx(2 / 3)
    assert study.judged == 3
    # Segments: people say -1, -5 (B) and -5, -1 (C), the metric 12, 12 and 13, 13; of pairs that neither ties one is
    # concordant and one discordant. C is the last name and is drawn in its pair with A, which has no reference, half of
    # the time: then one concordant pair is left (1 / √2), or one discordant. Systems: people's means are -3 (B) and -2
    # (C); under standard references the two tie, which is wrong.
    [effect] = study.effects
    assert (effect.standard, effect.machine) == pytest.approx((standard_result, machine))
    assert (effect.spread > 0) is (level == "segments")
    assert effect.metric == "longer"


def test_error_rates_are_turned_around() -> None:
    judgments, metric = made(), Longer()
    errors = scored("longer", judgments.systems, judgments.segments, -judgments.scores, lower_is_better=True)
    studied = StudiedMetric(errors, metric.scorer(lower_is_better=True))
    assert study_references(judgments, [studied]).effects[0].standard == pytest.approx(1.0)
    assert study_references(judgments, [studied], SYSTEMS).effects[0].machine == 0.0


def test_relatives_do_not_serve() -> None:
    judgments, metric = replace(made(), families={"A": "team", "B": "team"}), Longer()
    study = study_references(judgments, [StudiedMetric(standard(judgments), metric.scorer())])
    # A may no longer serve for B and C.
    assert (metric.asked, study.segments) == ([], 0.0)
    assert study.families == {"team": ("A", "B")}


@pytest.mark.parametrize(
    ("systems", "families"),
    [
        (("metricsystem1", "metricsystem2", "Online-W"), ("metricsystem", "metricsystem", "Online-W")),
        (("OPPO.1535", "Online-A.1574", "Online-B.1590"), ("OPPO.1535", "Online-A.1574", "Online-B.1590")),
        (("M2M100_1.2B-B4", "M2M100_1.2B-B1"), ("M2M100_1.2B-B", "M2M100_1.2B-B")),
        (("1", "2"), ("1", "2")),
    ],
)
def test_names_that_differ_in_a_trailing_number_are_a_family(
    systems: tuple[str, ...], families: tuple[str, ...]
) -> None:
    assert tuple(families_by_name(systems).values()) == families


def test_one_text_is_drawn_however_many_systems_wrote_it() -> None:
    # MD5 of "a" begins with 0c, that of "b" with 92.
    texts = Texts(("s",), {}, {"A": ("x",), "B": ("y",), "C": ("b",), "D": ("b",), "E": ("b",), "F": ("a",)})
    scores = np.array([[-1.0], [-1.0], [0.0], [0.0], [0.0], [0.0]])
    judgments, metric = judged("made", "en-de", "ABCDEF", "1", scores, texts=texts), Longer()
    study_references(judgments, [StudiedMetric(standard(judgments), metric.scorer())])
    # Only pairs with F itself must take the other text.
    assert {reference for output, reference in metric.asked if output != "a"} == {"a", "b"}
    pair = judgments.select("ABCDE")
    metric = Longer()
    study_references(pair, [StudiedMetric(standard(pair), metric.scorer())])
    assert {reference for _, reference in metric.asked} == {"b"}
    plan = ReferencePlan(judgments, error_free(judgments))
    assert int(plan.draw(digest_ranks(plan))[0, 1][0]) == 5


def test_the_seed_decides_where_the_draw_is_random() -> None:
    rng = np.random.default_rng(0)
    scores = -rng.integers(0, 3, size=(6, 20)).astype(float)
    outputs: dict[str, tuple[str | None, ...]] = {
        name: tuple("x" * int(rng.integers(1, 99)) for _ in range(20)) for name in "ABCDEF"
    }
    texts = Texts(("s",) * 20, {}, outputs)
    judgments = judged("made", "en-de", "ABCDEF", tuple(map(str, range(20))), scores, texts=texts)
    studied = [StudiedMetric(standard(judgments), Longer().scorer())]
    options = [StudyOptions(draw="random", draws=3, seed=seed) for seed in (1, 1, 2)]
    first, again, other = (study_references(judgments, studied, one) for one in options)
    assert first.effects == again.effects
    assert first.effects != other.effects
    assert first.effects[0].spread > 0
    fixed = study_references(judgments, studied, SYSTEMS).effects[0]
    assert fixed.spread == 0


def test_error_free_by_marks_and_by_score() -> None:
    zero = np.zeros(3, dtype=np.int64)
    none: tuple[Error, ...] = ()
    ratings = Ratings(
        ("r",), zero, np.arange(3), zero, np.array([0.0, 0.0, -5.0]), (none, (Error("x", "y"),), none)
    )
    judgments = Judgments("made", "en-de", ("A", "B", "C"), ("1",), ratings)
    assert error_free(judgments).tolist() == [[True], [False], [True]]
    assert error_free(judgments, "score").tolist() == [[True], [True], [False]]


def test_without_error_free_outputs_there_is_nothing_to_draw() -> None:
    judgments = judged("made", "en-de", ("A", "B"), ("1",), np.array([[-1.0], [-2.0]]))
    with pytest.raises(PrismError, match="made en-de: no output is free of errors"):
        study_references(judgments, [])


def test_scores_that_are_no_penalties() -> None:
    judgments = judged("made", "en-de", ("A", "B"), ("1",), np.array([[0.0], [90.0]]))
    with pytest.raises(PrismError, match="positive scores"):
        study_references(judgments, [])
    assert study_references(judgments, [], StudyOptions(error_free="score")).segments == 0


@pytest.mark.parametrize("level", ["segments", "systems"])
def test_both_results_leave_out_what_has_no_standard_reference(
    level: StudyLevel, caplog: pytest.LogCaptureFixture
) -> None:
    judgments = made()
    known = judgments.scores.copy()
    known[1:3, 0] = np.nan
    partly = scored("longer", judgments.systems, judgments.segments, known)
    metric = Longer()
    options = StudyOptions(level=level)
    [effect] = study_references(judgments, [StudiedMetric(partly, metric.scorer())], options).effects
    # Without the first segment of B and C there is only the third.
    assert metric.asked.count(("bb", "a")) == metric.asked.count(("ccc", "a")) == 1
    assert "2 judged outputs without a score of longer" in caplog.text
    if level == "systems":
        # Standard: B -5, C -1, as people say; machine: 12 and 13.
        assert (effect.standard, effect.machine) == (1.0, 1.0)


def test_a_fall_below_zero_is_a_fall() -> None:
    assert Effect("m", -0.1, -0.15, 0.0).change == pytest.approx(-0.5)
