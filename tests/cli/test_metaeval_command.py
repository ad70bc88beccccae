"""`prism metaeval` end to end on small files."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from made import make_model

from prism_mt.cli.main import main
from prism_mt.evaluation.overlap import segment_key
from prism_mt.models.directory import write_model

RNG = np.random.default_rng(0)
WORDS = ["the", "a", "cat", "dog", "sat", "ran", "here", "there", "quickly", "slowly"]


@pytest.fixture
def judgments(tmp_path: Path) -> Path:
    """Five systems that keep ever more words of the reference; people count the words that are right."""
    path = tmp_path / "made_xx-en.jsonl"
    with path.open("w", encoding="utf-8") as handle:
        for segment in range(1, 31):
            reference = [str(word) for word in RNG.choice(WORDS, 8)]
            outputs, scores = {"ref-A": " ".join(reference)}, {"ref-A": 0.0}
            for place, system in enumerate("ABCDE"):
                keep = RNG.random(8) < 0.3 + 0.15 * place
                output = [word if kept else "wrong" for word, kept in zip(reference, keep, strict=True)]
                outputs[system] = " ".join(output)
                scores[system] = float(keep.sum() - 8)
            record = {"sid": segment, "src": "quelle", "sys": outputs, "scores": scores}
            handle.write(json.dumps(record) + "\n")
    return path


@pytest.fixture
def noise(tmp_path: Path) -> Path:
    path = tmp_path / "noise.tsv"
    with path.open("w", encoding="utf-8") as handle:
        handle.write("metric\tlp\tsystem\tsegment\tscore\n")
        for system in "ABCDE":
            for segment in range(1, 31):
                handle.write(f"noise\txx-en\t{system}\t{segment}\t{RNG.random()}\n")
    return path


def run(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert main(["metaeval", *map(str, words)]) == 0
    return capsys.readouterr().out


def test_table_of_computed_and_given_metrics(
    capsys: pytest.CaptureFixture[str], judgments: Path, noise: Path
) -> None:
    text = run(capsys, judgments, "--metric", "chrf", "--scores", noise, "--draws", 50)
    assert "made_xx-en: 5 systems, 30 segments, 150 outputs" in text
    assert "chrf|nrefs:1|" in text
    assert "|reference:ref-A" in text
    table = json.loads(run(capsys, judgments, "-m", "chrf", "-s", noise, "--draws", 50, "--format", "json"))[0]
    first, second = table["rows"]
    assert (first["metric"], second["metric"]) == ("chrf", "noise")
    assert first["tau_b"] > 0.8
    assert second["p_value"] < 0.05
    assert table["bold"] == [{"row": 0, "column": "tau_b"}]


def test_levels_statistics_and_tests_can_be_changed(
    capsys: pytest.CaptureFixture[str], judgments: Path, noise: Path
) -> None:
    words = (judgments, "-m", "chrf", "-s", noise, "--format", "tsv", "--draws", 30)
    assert "Pearson\tp\trank" in run(capsys, *words, "--protocol", "wmt19-sys")
    assert "soft-accuracy" in run(capsys, *words, "--protocol", "wmt24-sys")
    assert "Pearson in segments\tlow\thigh" in run(
        capsys, *words, "--statistic", "pearson", "--average-over", "segments", "--test", "intervals"
    )
    assert ": 4 systems" in run(capsys, *words, "--protocol", "wmt19-sys", "--top", 4)
    assert ": 6 systems" in run(capsys, judgments, "-s", noise, "--humans", "--protocol", "wmt19-sys")
    # The reference itself is not judged.
    assert ": 5 systems" in run(capsys, *words[:3], "--humans", "--protocol", "wmt19-sys")


def test_several_pairs_have_an_overview_and_pooled_accuracy(
    capsys: pytest.CaptureFixture[str], judgments: Path
) -> None:
    other = judgments.with_name("made_yy-en.jsonl")
    other.write_bytes(judgments.read_bytes())
    text = run(capsys, judgments, other, "-m", "chrf", "bleu", "--protocol", "wmt19-sys", "--format", "markdown")
    assert "all language pairs" in text
    assert "all language pairs pooled" in text


def test_one_picture_and_an_output_file(
    tmp_path: Path, judgments: Path, noise: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    plot, output = tmp_path / "figure.svg", tmp_path / "table.tex"
    arguments = [judgments, "-s", noise, "--draws", 20, "--plot", plot, "--format", "latex", "-o", output]
    assert main(["metaeval", *map(str, arguments)]) == 0
    assert "\\begin{table}" in output.read_text(encoding="utf-8")
    assert [one.name for one in tmp_path.glob("figure*")] == ["figure.svg"]
    assert capsys.readouterr().err.splitlines()[-1] == f"prism: wrote {plot}"


def test_sweep(capsys: pytest.CaptureFixture[str], tmp_path: Path, judgments: Path, noise: Path) -> None:
    words = ("sweep", judgments, "-m", "chrf", "-s", noise, "--test", judgments, "--test-scores", noise)
    text = run(capsys, *words, "--steps", 2, "--format", "tsv")
    assert text.splitlines()[1] == "noise\tchrf\tdevelopment\ttest"
    assert len(text.splitlines()) == 5
    pytest.importorskip("matplotlib")
    run(capsys, *words, "--steps", 2, "--plot", tmp_path / "sweep.png")
    assert (tmp_path / "sweep.png").exists()


def test_disagreements(capsys: pytest.CaptureFixture[str], judgments: Path, noise: Path) -> None:
    text = run(capsys, "disagreements", judgments, "-s", noise, "-m", "chrf", "-n", 3, "--format", "json")
    higher, lower = json.loads(text)
    assert len(higher["rows"]) == len(lower["rows"]) == 3
    assert higher["rows"][0]["people"] > higher["rows"][0]["noise"]
    assert lower["rows"][0]["people"] < lower["rows"][0]["noise"]
    assert higher["rows"][0]["reference"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(make_model(), tmp_path_factory.mktemp("metaeval") / "made").folder


def test_prism_is_judged_on_its_own_scores(
    capsys: pytest.CaptureFixture[str], judgments: Path, model: Path
) -> None:
    renamed = judgments.rename(judgments.with_name("made_de-en.jsonl"))
    words = (renamed, "-m", "prism-ref", "prism-src", "--model", model, "--draws", 20, "--format", "json")
    (table,) = json.loads(run(capsys, *words))
    values = {row["metric"]: row["tau_b"] for row in table["rows"]}
    assert set(values) == {"prism-ref", "prism-src"}
    assert all(value is not None for value in values.values())


@pytest.mark.parametrize(("command", "column"), [([], "tau_b"), (["references"], "machine-translated")])
def test_one_metric_with_several_models(
    capsys: pytest.CaptureFixture[str],
    judgments: Path,
    model: Path,
    tmp_path: Path,
    command: list[str],
    column: str,
) -> None:
    other = write_model(make_model(seed=1), tmp_path / "other").folder
    renamed = judgments.rename(judgments.with_name("made_de-en.jsonl"))

    def judged(*models: Path) -> dict[str, float]:
        words = (
            *command,
            renamed,
            "-m",
            "prism-ref",
            "chrf",
            "--model",
            *models,
            "--draws",
            5,
            "--format",
            "json",
        )
        (table,) = json.loads(run(capsys, *words))
        return {row["metric"]: row[column] for row in table["rows"]}

    alone = {folder: judged(folder) for folder in (model, other)}
    labels = {folder: f"prism-ref[model={folder}]" for folder in (model, other)}
    assert alone[model]["prism-ref"] != alone[other]["prism-ref"]
    assert judged(model, other) == {
        labels[model]: alone[model]["prism-ref"],
        labels[other]: alone[other]["prism-ref"],
        "chrf": alone[model]["chrf"],
    }
    assert judged(model, model) == alone[model]


def test_warns_of_a_model_that_learned_from_the_judgments(
    caplog: pytest.LogCaptureFixture, judgments: Path, tmp_path: Path
) -> None:
    learned = dataclasses.replace(make_model(), judged=frozenset({segment_key("de-en", "quelle")}))
    folder = str(write_model(learned, tmp_path / "tuned").folder)
    renamed = str(judgments.rename(judgments.with_name("made_de-en.jsonl")))
    for command in ([], ["references"]):
        caplog.clear()
        assert main(["metaeval", *command, renamed, "-m", "prism-ref", "--model", folder, "--draws", "5"]) == 0
        assert f"{folder} learns from 30 of the 30 segments of made_de-en" in caplog.text


def test_protocols_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert "wmt21-mqm" in run(capsys, "protocols")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing.tsv"], "cannot read missing.tsv"),
        (["{judgments}"], "no metric to judge"),
        (["{judgments}", "-m", "nosuch"], "no metric and no folder of a learned metric is named 'nosuch'"),
        (["{judgments}", "-m", "chrf", "--protocol", "nosuch"], "unknown protocol 'nosuch'"),
        (["{judgments}", "-m", "chrf", "--pairs", "de-fr"], "no judgments of de-fr"),
        (["{judgments}", "-m", "chrf", "--reference", "x"], "has no reference 'x'; it has ref-A"),
        (["{judgments}", "-m", "chrf", "--plot", "x.doc"], "must end in"),
        (["{judgments}", "-m", "chrf", "--test", "williams"], "Williams"),
        (["disagreements", "{judgments}"], "name a metric"),
        (["sweep", "{judgments}", "-m", "chrf"], "at least two metrics"),
    ],
)
def test_mistakes_are_one_sentence(
    capsys: pytest.CaptureFixture[str], judgments: Path, words: list[str], message: str
) -> None:
    assert main(["metaeval", *(word.format(judgments=judgments) for word in words)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("words", [["--draws", "5"], ["sweep"], ["disagreements"]])
def test_judgments_must_be_named(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert main(["metaeval", *words]) == 2
    assert "required" in capsys.readouterr().err


def test_metrics_over_vectors(judgments: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("transformers", reason="needs the extra hf")
    from tiny_bert import make_bert

    make_bert(tmp_path / "bert")
    words = ("--metric", "bertr", "--encoder", tmp_path / "bert", "--format", "json")
    (table,) = json.loads(run(capsys, judgments, *words))
    assert [row["metric"] for row in table["rows"]] == [f"bertr[encoder={tmp_path / 'bert'}]"]
    (tmp_path / "bert" / "README.md").write_text("---\nlanguage: de\n---\n", encoding="utf-8")
    assert main(["metaeval", str(judgments), *map(str, words)]) == 2
    assert "does not support en; it supports de" in capsys.readouterr().err


def two_testsets(judgments: Path) -> Path:
    rows = [json.loads(line) for line in judgments.read_text(encoding="utf-8").splitlines()]
    both = judgments.with_name("both_xx-en.jsonl")
    lines = [json.dumps({**row, "testset": name}) for name in ("news", "ted") for row in rows]
    both.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return both


def test_test_sets_of_one_pair_are_told_apart(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, judgments: Path, noise: Path
) -> None:
    both = two_testsets(judgments)
    words = (both, "-m", "chrf", "--draws", 20)
    overview = json.loads(run(capsys, *words, "--format", "json"))[-1]
    assert overview["columns"][1:3] == ["news xx-en", "ted xx-en"]
    run(capsys, *words, "--plot", tmp_path / "p.png")
    assert (tmp_path / "p.png").exists()
    assert main(["metaeval", str(both), "-s", str(noise)]) == 2
    assert "judge one at a time" in capsys.readouterr().err


def test_the_reference_is_not_judged_against_itself(
    capsys: pytest.CaptureFixture[str], judgments: Path, caplog: pytest.LogCaptureFixture
) -> None:
    words = (judgments, "-m", "chrf", "--draws", 20, "--format", "json", "--reference", "ref-A")
    with_humans, without = (json.loads(run(capsys, *words, *more))[0] for more in (["--humans"], []))
    assert with_humans["rows"][0]["tau_b"] == without["rows"][0]["tau_b"]
    assert "ref-A is the reference and is not judged against itself" in caplog.text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--draws", "0"], "draws must be between 1 and 1,000,000, not 0"),
        (["--seed", "-1"], "seed must be at least 0"),
        (["--alpha", "nan"], "alpha must be a finite number"),
        (["--alpha", "2"], "alpha must be between 1e-09 and 0.5"),
        (["--top", "0"], "top must be at least 2"),
        (["--lower-is-better", "nois"], "no metric nois"),
    ],
)
def test_values_that_make_no_sense(
    capsys: pytest.CaptureFixture[str], judgments: Path, noise: Path, words: list[str], message: str
) -> None:
    assert main(["metaeval", str(judgments), "-s", str(noise), *words]) == 2
    assert message in capsys.readouterr().err


def test_intervals_that_are_not_defined_decide_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, scores = tmp_path / "two_xx-en.jsonl", tmp_path / "scores.tsv"
    lines = [json.dumps({"sid": i, "scores": {"A": 0.0, "B": -float(i == 1)}}) for i in range(1, 5)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = [
        f"{metric}\txx-en\t{system}\t{i}\t{factor * (system == 'A') + i}"
        for metric, factor in (("M1", 1), ("M2", 2))
        for system in "AB"
        for i in range(1, 5)
    ]
    scores.write_text("\n".join(["metric\tlp\tsystem\tsegment\tscore", *rows]) + "\n", encoding="utf-8")
    words = (
        path,
        "-s",
        scores,
        "--statistic",
        "accuracy",
        "--test",
        "intervals",
        "--draws",
        50,
        "--format",
        "json",
    )
    [table] = json.loads(run(capsys, *words))
    assert [row["rank"] for row in table["rows"]] == [1, 1]


def test_a_folder_says_its_pair_itself(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, judgments: Path
) -> None:
    folder = tmp_path / "zz-en"
    folder.mkdir()
    lines = [f"{system}\t{RNG.random()}" for system in "ABCDE" for _ in range(30)]
    (folder / "M-refA.seg.score").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert main(["metaeval", str(judgments), "--pairs", "xx-en", "-s", str(folder / "M-refA.seg.score")]) == 2
    assert "has no metric scores of xx-en" in capsys.readouterr().err


def test_intervals_of_system_judgments_say_what_is_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    human, scores = tmp_path / "da.tsv", tmp_path / "scores.tsv"
    rows = [("A", 0.5, 30), ("B", 0.3, 28), ("C", 0.1, 29), ("D", -0.2, 20), ("E", -0.4, 10)]
    human.write_text("lp\tsystem\tscore\n" + "".join(f"de-en\t{s}\t{h}\n" for s, h, _ in rows), "utf-8")
    scores.write_text(
        "metric\tlp\tsystem\tscore\n" + "".join(f"X\tde-en\t{s}\t{m}\n" for s, _, m in rows), "utf-8"
    )
    words = ["metaeval", str(human), "--scores", str(scores), "--protocol", "wmt19-sys", "--intervals"]
    assert main(words) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "low and high: 95 % bootstrap intervals, 1000 draws of systems, seed 1" in out
