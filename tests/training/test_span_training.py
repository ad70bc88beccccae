"""Training of error spans, small enough for a test."""

import json
from pathlib import Path

import numpy as np
import pytest
from made import SENTENCES, make_model

from prism_mt import PrismError, PrismRef, score
from prism_mt.cli.main import main
from prism_mt.metrics.spans.classifier import load_classifier
from prism_mt.metrics.spans.features import NAMES
from prism_mt.models.directory import ModelDirectory, write_model
from prism_mt.text.parallel import Languages
from prism_mt.training.spans.bitext import TextPair, sample_pairs
from prism_mt.training.spans.error_free import fit_logistic
from prism_mt.training.spans.examples import Example, Labeled, perturbed_examples
from prism_mt.training.spans.train import fit

ENGLISH, GERMAN = [SENTENCES[0], SENTENCES[5], SENTENCES[10]], [SENTENCES[1], SENTENCES[6], SENTENCES[11]]


def write_bitext(path: Path) -> Path:
    rows = [f"en\tde\t{one}\t{other}" for one, other in zip(ENGLISH, GERMAN, strict=True)]
    rows += [f"en\ten\t{one}\t{one}" for one in ENGLISH] + ["xx\tde\ta b c d e f\ta b c d e f"]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_pairs_are_drawn_from_all_languages(tmp_path: Path) -> None:
    path = write_bitext(tmp_path / "bitext.tsv")
    found = sample_pairs([path], {"en", "de"}, 2, seed=0)
    counts: dict[tuple[str, bool], int] = {}
    for pair in found:
        counts[pair.language, pair.is_paraphrase] = counts.get((pair.language, pair.is_paraphrase), 0) + 1
    assert counts[("en", True)] == 2
    assert max(counts.values()) == 2
    assert found == sample_pairs([path], {"en", "de"}, 2, seed=0)
    parallel = tmp_path / "parallel.jsonl"
    parallel.write_text(
        json.dumps({"_id": 1, "en": ENGLISH[0], "de": GERMAN[0], "fr": "x"}) + "\n", encoding="utf-8"
    )
    [pair] = sample_pairs([parallel], {"en", "de"}, 2, seed=0)
    assert {pair.language, pair.other_language} == {"en", "de"}
    (tmp_path / "bad.tsv").write_text("en\tde\tx\n", encoding="utf-8")
    with pytest.raises(PrismError, match="line 1: 3 columns instead of 4"):
        sample_pairs([tmp_path / "bad.tsv"], {"en"}, 2, seed=0)
    with pytest.raises(PrismError, match="no pairs of texts in fr"):
        sample_pairs([path], {"fr"}, 2, seed=0)


def test_short_texts_at_the_beginning_do_not_empty_the_sample(tmp_path: Path) -> None:
    path = tmp_path / "bitext.tsv"
    rows = ["en\ten\tToo short.\tToo short."] * 50 + [f"en\ten\t{one}\t{one}" for one in ENGLISH]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    assert len(sample_pairs([path], {"en"}, 3, seed=0)) == 3


def test_a_large_file_does_not_crowd_out_a_small_one(tmp_path: Path) -> None:
    large, small = tmp_path / "large.tsv", tmp_path / "small.tsv"
    large.write_text(f"en\ten\t{ENGLISH[0]}\t{ENGLISH[0]}\n" * 100, encoding="utf-8")
    small.write_text(f"en\ten\t{ENGLISH[1]}\t{ENGLISH[1]}\n" * 2, encoding="utf-8")
    found = [pair.text for pair in sample_pairs([large, small], {"en"}, 5, seed=0)]
    assert sorted(map(ENGLISH.index, found)) == [0, 0, 0, 1, 1]


def test_short_words_are_left_out_by_themselves() -> None:
    found = perturbed_examples([TextPair("en", "He walked to school in the long winter.", "de", GERMAN[0])], 0)
    [one] = [one for one in found if one.severity == "minor" and one.missing]
    assert one.missing is not None
    [(start, end)] = one.missing
    assert one.segment.references[0][start:end] in ("to", "in", "the")
    assert one.segment.hypothesis == one.segment.references[0][:start] + one.segment.references[0][end + 1 :]


def test_a_negation_is_no_article() -> None:
    source = TextPair("ro", "Casa nu este în orașul vechi de lângă munte.", "en", ENGLISH[0])
    found = _many(source)
    assert not any(one.severity == "minor" and _missing(one) == ["nu"] for one in found)
    # Taken out, "nu" is missing in the text itself; a classifier that never sees that takes it for an article.
    assert any(one.severity == "major" and _missing(one) == ["nu"] for one in found)


def _missing(example: Example) -> list[str]:
    texts = example.segment.references
    return [texts[0][start:end] for start, end in example.missing or ()] if texts else []


def _many(pair: TextPair) -> list[Example]:
    return [example for seed in range(20) for example in perturbed_examples([pair], seed)]


def test_examples_say_what_is_known() -> None:
    found = perturbed_examples(
        [TextPair("en", one, "de", other) for one, other in zip(ENGLISH, GERMAN, strict=True)], 0
    )
    assert any(one.wrong == () and one.missing == () for one in found)  # untouched
    assert all(one.missing is None for one in found if one.crosslingual and one.wrong)
    omitted = [one for one in found if one.crosslingual and one.missing]
    assert omitted  # words added to the source are missing in the output
    for one in omitted:
        assert one.segment.source is not None
        assert all(one.segment.source[start:end].strip() for start, end in one.missing or ())


def test_the_network_learns_and_counts_constrain() -> None:
    generator = np.random.default_rng(0)

    def made(side: str, known: bool) -> Labeled:
        table = generator.standard_normal((12, len(NAMES))).astype(np.float32)
        labels = np.where(table[:, 1] < -1, 2, 0)
        errors = None if known else (int((labels > 0).sum()), int((labels > 0).sum()))
        example = Example(None, Languages(), False, errors=errors)  # type: ignore[arg-type]
        return Labeled(table, labels if known else labels * 0 - 1, side, example)

    labeled = [made(side, number % 5 > 0) for side in ("wrong", "missing") for number in range(200)]
    classifier, scores = fit(labeled, seed=0)
    assert scores["wrong.reference"] > 0.7
    assert scores["missing.source"] > 0.7
    table = np.zeros((2, len(NAMES)), dtype=np.float32)
    table[:, 1] = [-3, 3]
    probabilities = classifier.probabilities(table, "wrong")
    assert probabilities[0, 2] > 0.9
    assert probabilities[1, 0] > 0.9


def test_logistic_regression_is_calibrated() -> None:
    generator = np.random.default_rng(0)
    table = generator.standard_normal((4000, 14)).astype(np.float32)
    truth = 1 / (1 + np.exp(-(table[:, 0] - 1)))
    judge = fit_logistic(table, (generator.random(4000) < truth).astype(np.float64))
    predicted = np.array([judge.probability(row) for row in table[:500]])
    assert np.abs(predicted - truth[:500]).mean() < 0.05
    with pytest.raises(PrismError, match="nothing to learn"):
        fit_logistic(table, np.ones(4000))


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_model(make_model(), tmp_path / "made").folder
    judgments = tmp_path / "mqm_de-en.jsonl"
    rows = []
    for number, (text, source) in enumerate(zip(ENGLISH * 4, GERMAN * 4, strict=True), start=1):
        errors = [] if number % 2 else [["Accuracy/Omission", "Major"], ["Style/Awkward", "Minor"]]
        outputs = {"A": text.upper() if number % 2 else text[10:], "ref-A": text}
        mqm = {"A": {"r1": {"score": -5.0 * len(errors), "errors": errors}}}
        rows.append(json.dumps({"seg_id": number, "src": source, "sys": outputs, "mqm": mqm}))
    judgments.write_text("\n".join(rows) + "\n", encoding="utf-8")
    words = ["--model", str(folder)]
    bitext = str(write_bitext(tmp_path / "bitext.tsv"))
    spans = ["metric", "spans", "--bitext", bitext, "--judgments", str(judgments), "--pairs", "4", *words]
    assert main(spans) == 0
    assert "F1 of marked words on held-out segments: wrong.reference " in capsys.readouterr().out
    load_classifier(ModelDirectory(folder))
    assert main(["metric", "error-free", str(judgments), *words]) == 0
    assert "calibration is in" in capsys.readouterr().out
    metric = PrismRef(model=str(folder))
    found = score(ENGLISH, ref=ENGLISH, lang="en", metrics=metric, spans=True, error_free=True).item()
    assert found.error_free is not None
    assert ((found.error_free > 0) & (found.error_free < 1)).all()
    assert main(["metaeval", "error-free", str(judgments), *words, "--plot", str(tmp_path / "r.png")]) == 0
    assert "errors in worst 30 %" in capsys.readouterr().out
    assert main(["metaeval", "spans", "-l", "en", "de", "--segments", "2", *words]) == 0
    assert "critical as major" in capsys.readouterr().out
    assert main(["metaeval", "spans", str(judgments), *words]) == 2
    assert "no texts with marked spans" in capsys.readouterr().err
