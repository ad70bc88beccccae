"""Machine-translated references."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from metaeval_data import Read

from prism_mt._core.errors import PrismError
from prism_mt.cli.main import main
from prism_mt.evaluation.judgments import Judgments, MetricScores, Texts
from prism_mt.evaluation.machine_references import Effect, Studied, StudyLevel, study_references
from prism_mt.evaluation.readers.scores import read_scores
from prism_mt.evaluation.sweep import find_metric
from prism_mt.metrics.base import Segment, SegmentScore, Side

PRISM, FINETUNED, COMET = "Prism-ref", "Prism-paper_main_checkpoint1.pt", "COMET"
# Printed results of Prism, Prism+FT and COMET with standard references where there are machine-translated ones,
# how far ours may be off, and how many segments have one by our count (the paper: 518 and 461).
STANDARD = {
    "en-de": ((18.9, 24.9, 25.1), 0.2, 521),
    "zh-en": ((24.2, 26.6, 32.1), 0.8, 503),
}


@pytest.mark.parametrize("pair", list(STANDARD))
def test_published_results_with_standard_references(read: Read, data: Path, pair: str) -> None:
    judgments = read(f"wmt21_mqm_news_{pair}.jsonl.xz")[pair]
    scores = read_scores(data / f"prismft_predictions_wmt21.news_{pair}.json.xz")
    metrics = [Studied(find_metric(scores, name)) for name in (PRISM, FINETUNED, COMET)]
    study = study_references(judgments, metrics, "segments", draws=1)
    values, tolerance, segments = STANDARD[pair]
    assert [100 * effect.standard for effect in study.effects] == pytest.approx(values, abs=tolerance)
    assert study.segments == segments
    assert all(np.isnan(effect.machine) for effect in study.effects)


def test_published_accuracy_with_standard_references(read: Read, data: Path) -> None:
    judgments = read("wmt21_mqm_news_en-de.jsonl.xz")["en-de"]
    scores = read_scores(data / "prismft_predictions_wmt21.news_en-de.json.xz")
    metrics = [Studied(find_metric(scores, name)) for name in ("SentBLEU", "ChrF", FINETUNED, COMET)]
    study = study_references(judgments, metrics, "systems", draws=1)
    assert [f"{100 * effect.standard:.1f}" for effect in study.effects] == ["89.7", "87.2", "89.7", "79.5"]
    # All five as published where the systems made for the metrics task do not serve as references.
    metrics.append(Studied(find_metric(scores, PRISM)))
    study = study_references(judgments, metrics, "systems", draws=1, only_scored=["metricsystem*"])
    assert [f"{100 * effect.standard:.1f}" for effect in study.effects] == ["89.7", "87.2", "89.7", "79.5", "85.9"]


class Longer:
    """The longer the reference, the better; counts what it is asked."""

    name = "longer"
    needs: frozenset[Side] = frozenset({"ref"})

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def score(self, segments: Iterable[Segment]) -> Iterator[SegmentScore]:
        for segment in segments:
            self.asked.append((segment.hypothesis, segment.references[0]))
            yield SegmentScore(float(len(segment.references[0])), ())

    def aggregate(self, totals: Sequence[float]) -> float:
        raise AssertionError

    def signature(self) -> str:
        return self.name


def made() -> Judgments:
    """Three systems and a person; in the last segment only A is free of errors, B was not judged in the second."""
    scores = np.array([[0.0, -1.0, 0.0], [-1.0, np.nan, -5.0], [-5.0, 0.0, -1.0], [0.0, 0.0, 0.0]])
    systems = ("A", "B", "C", "ref-A")
    outputs: dict[str, tuple[str | None, ...]] = {
        name: tuple(name.lower() * (row + 1) for _ in range(3)) for row, name in enumerate(systems)
    }
    texts = Texts(("s",) * 3, {"ref-A": outputs["ref-A"]}, outputs)
    return Judgments("made", "en-de", systems, ("1", "2", "3"), scores, texts=texts)


def standard(judgments: Judgments) -> MetricScores:
    return MetricScores("longer", "en-de", judgments.systems, judgments.segments, judgments.scores)


def test_references_are_error_free_outputs_of_other_systems() -> None:
    judgments, metric = made(), Longer()
    study = study_references(judgments, [Studied(standard(judgments), metric)], "segments")
    # Segment 1: A for B and C. Segment 2: C for A; B is not judged, C has only its own. Segment 3: A for B and C.
    assert sorted(metric.asked) == [("a", "ccc"), ("bb", "a"), ("bb", "a"), ("ccc", "a"), ("ccc", "a")]
    assert (study.segments, study.judged) == (3, 3)
    [effect] = study.effects
    assert (effect.standard, effect.spread) == pytest.approx((1.0, 0.0))
    # People: -1 (A in 2), -1 and -5 (B), -5 and -1 (C); the metric: 3 for the first, 1 for the others.
    # Pairs with A: 2 concordant, 2 tied by people; untied by people 6, by the metric 4.
    assert effect.machine == pytest.approx(2 / np.sqrt(6 * 4))
    assert effect.change == pytest.approx(effect.machine - 1.0)


def test_pairs_of_systems_share_the_reference_of_a_third() -> None:
    judgments, metric = made(), Longer()
    study = study_references(judgments, [Studied(standard(judgments), metric)], "systems", draws=2)
    # A and B: C in no segment that both were judged in. A and C: B is never free of errors. B and C: A in 1 and 3.
    assert sorted(metric.asked) == [("bb", "a"), ("bb", "a"), ("ccc", "a"), ("ccc", "a")]
    # Means of people: B -3, C -2. Standard: B (-1, -5) and C (-5, -1) tie. Machine: both have the same scores.
    assert (study.effects[0].standard, study.effects[0].machine) == (0.0, 0.0)
    assert study.segments == 2


def test_the_seed_decides() -> None:
    rng = np.random.default_rng(0)
    scores = -rng.integers(0, 3, size=(6, 20)).astype(float)
    systems = tuple("ABCDEF")
    outputs: dict[str, tuple[str | None, ...]] = {
        name: tuple("x" * int(rng.integers(1, 99)) for _ in range(20)) for name in systems
    }
    texts = Texts(("s",) * 20, {}, outputs)
    judgments = Judgments("made", "en-de", systems, tuple(map(str, range(20))), scores, texts=texts)
    studied = [Studied(standard(judgments), Longer())]
    first, again, other = (study_references(judgments, studied, "segments", 3, seed) for seed in (1, 1, 2))
    assert first.effects == again.effects
    assert first.effects != other.effects
    assert first.effects[0].spread > 0


def test_without_error_free_outputs_there_is_nothing_to_draw() -> None:
    judgments = Judgments("made", "en-de", ("A", "B"), ("1",), np.array([[-1.0], [-2.0]]))
    with pytest.raises(PrismError, match="made en-de: no output is free of errors"):
        study_references(judgments, [], "segments")


def test_systems_that_are_only_scored() -> None:
    judgments, metric = made(), Longer()
    study = study_references(judgments, [Studied(standard(judgments), metric)], "segments", only_scored=["A"])
    # C is free of errors in the second segment, where only A was judged besides.
    assert (metric.asked, study.segments) == ([("a", "ccc")], 1)
    with pytest.raises(PrismError, match="has no system Z.; it has A, B, C"):
        study_references(judgments, [], "segments", only_scored=["Z?"])
    with pytest.raises(PrismError, match="no output is free of errors"):
        study_references(judgments, [], "segments", only_scored=["[A-C]"])


def test_scores_that_are_no_penalties() -> None:
    judgments = Judgments("made", "en-de", ("A", "B"), ("1",), np.array([[0.0], [90.0]]))
    with pytest.raises(PrismError, match="scores above 0"):
        study_references(judgments, [], "segments")


@pytest.mark.parametrize("level", ["segments", "systems"])
def test_both_results_leave_out_what_has_no_standard_reference(
    level: StudyLevel, caplog: pytest.LogCaptureFixture
) -> None:
    judgments = made()
    known = judgments.scores.copy()
    known[1:3, 0] = np.nan
    partly = MetricScores("longer", "en-de", judgments.systems, judgments.segments, known)
    metric = Longer()
    [effect] = study_references(judgments, [Studied(partly, metric)], level).effects
    # Without the first segment of B and C there is only the third.
    assert ("bb", "a") in metric.asked
    assert metric.asked.count(("bb", "a")) == metric.asked.count(("ccc", "a")) == 1
    assert "2 judged outputs without a score of longer" in caplog.text
    if level == "systems":
        # Standard: B -5, C -1, as people say; machine: the same reference for both is a tie, which is wrong.
        assert (effect.standard, effect.machine) == (1.0, 0.0)


def test_a_fall_below_zero_is_a_fall() -> None:
    assert Effect("m", -0.1, -0.15, 0.0).change == pytest.approx(-0.5)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    for lp in ("en-de", "zh-en"):
        with (tmp_path / f"made_{lp}.jsonl").open("w", encoding="utf-8") as handle:
            for segment in range(8):
                texts = {name: f"text {rng.integers(9)} of {name}" for name in ("ref-A", "A", "B", "C")}
                scores = {name: -float(rng.integers(2)) for name in "ABC"}
                handle.write(json.dumps({"sid": segment, "src": "s", "sys": texts, "scores": scores}) + "\n")
    files = [str(path) for path in sorted(tmp_path.glob("*.jsonl"))]
    assert main(["metaeval", "references", *files, "-m", "chrf", "--level", "systems", "--format", "json"]) == 0
    tables = json.loads(capsys.readouterr().out)
    assert [table["caption"].split(":")[0] for table in tables] == [
        "made_en-de",
        "made_zh-en",
        "All language pairs",
    ]
    assert tables[0]["rows"][0]["metric"] == "chrf"
    assert set(tables[2]["rows"][0]) == {
        *("metric", "en-de standard", "en-de machine", "zh-en standard", "zh-en machine"),
        *("mean standard", "mean machine"),
    }
    words = ["metaeval", "references", *files, "-m", "chrf", "--draws", "1"]
    assert main([*words, "--plot", str(tmp_path / "effects.svg")]) == 0
    assert "en-de" in (tmp_path / "effects.svg").read_text(encoding="utf-8")
    capsys.readouterr()
    assert main([*words, "--humans"]) == 2
    assert "leave out --humans" in capsys.readouterr().err
    assert main(["metaeval", "references", *files]) == 2
    assert "name a metric with --metric or --scores" in capsys.readouterr().err
    assert main(["metaeval", "references", *files, "-m", "prism-src", "--model", "nowhere"]) == 2
