"""A folder of mt-metrics-eval judged in one command, beside the formulas of the shared tasks written out."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mtme_folder import DOMAINS, make_folder

from prism_mt.cli.main import main


def tables(capsys: pytest.CaptureFixture[str], *words: object) -> list[dict[str, Any]]:
    assert main(["metaeval", *map(str, words), "--format", "json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def column(table: dict[str, Any], key: str) -> dict[str, float]:
    return {row["metric"]: row[key] for row in table["rows"]}


def p_values(scores: np.ndarray) -> dict[tuple[int, int], float]:
    """As mt-metrics-eval draws and counts: signs from rounded random numbers of a generator with seed 4."""
    signs = np.rint(np.random.default_rng(4).random((1000, scores.shape[1]), dtype=np.float32)) * 2 - 1
    found = {}
    for a, b in itertools.combinations(range(len(scores)), 2):
        difference = scores[a] - scores[b]
        found[a, b] = sum(float(row @ difference) >= difference.sum() - 1e-9 for row in signs) / 1000
    return found


def soft_accuracy(human: np.ndarray, metric: np.ndarray) -> float:
    people, machine = p_values(human), p_values(metric)
    return 1 - sum(abs(people[pair] - machine[pair]) for pair in people) / len(people)


def acc_t23(human: np.ndarray, metric: np.ndarray) -> float:
    """The best mean over segments of the share of right pairs, over all epsilons."""
    gaps = {
        abs(metric[a, s] - metric[b, s])
        for s in range(human.shape[1])
        for a, b in itertools.combinations(range(len(human)), 2)
    }
    best = 0.0
    for epsilon in (0.0, *gaps):
        shares = []
        for s in range(human.shape[1]):
            known = [row for row in range(len(human)) if not np.isnan(human[row, s])]
            right = []
            for a, b in itertools.combinations(known, 2):
                gap = metric[a, s] - metric[b, s]
                right.append(np.sign(human[a, s] - human[b, s]) == (0 if abs(gap) <= epsilon else np.sign(gap)))
            shares.append(sum(right) / len(right))
        best = max(best, sum(shares) / len(shares))
    return best


def difference_pearson(human: np.ndarray, metric: np.ndarray) -> float:
    people, machine = [], []
    for s in range(human.shape[1]):
        for a, b in itertools.permutations(range(len(human)), 2):
            if not np.isnan(human[a, s] - human[b, s]):
                people.append(human[a, s] - human[b, s])
                machine.append(metric[a, s] - metric[b, s])
    return float(np.corrcoef(people, machine)[0, 1])


def test_one_command_finds_everything(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    made = make_folder(tmp_path / "any-name")
    words = (made.folder, "--pairs", "en-de", "--reference", "refA", "--human-score", "mqm", "-m", "chrf")
    human = made.human["en-de"]
    found = tables(capsys, *words, "--protocol", "wmt24-mqm", "--draws", 20)[0]
    assert found["caption"] == "any-name en-de: 4 systems, 6 segments, 23 outputs, reference refA"
    # prismRef is the variant with refA, and ours stands beside it.
    values = column(found, "acc_t23")
    assert set(values) == {"prismRef", "prismSrc", "chrf"}
    for metric, name in (("prismRef", "prismRef-refA"), ("prismSrc", "prismSrc-src")):
        assert values[metric] == pytest.approx(acc_t23(human, made.metrics[f"en-de {name}"]))
    pdp = column(tables(capsys, *words, "--protocol", "pdp", "--draws", 20)[0], "pdp")
    assert pdp["prismRef"] == pytest.approx(difference_pearson(human, made.metrics["en-de prismRef-refA"]))
    other = (*words[:3], "--reference", "refB", *words[5:], "--protocol", "pdp", "--draws", 20)
    assert column(tables(capsys, *other)[0], "pdp")["prismRef"] == pytest.approx(
        difference_pearson(human, made.metrics["en-de prismRef-refB"])
    )


def test_soft_accuracy_by_the_formula(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    made = make_folder(tmp_path / "set")
    words = (made.folder, "--reference", "refA", "--human-score", "esa", "--protocol", "wmt24-sys", "--draws", 20)
    values = column(tables(capsys, *words)[0], "soft_accuracy")
    # ESA has no holes: 100 - 10 for every error.
    quality = np.loadtxt(made.folder / "human-scores/en-de.esa.seg.score", usecols=1).reshape(4, 6)
    for metric, name in (("prismRef", "prismRef-refA"), ("prismSrc", "prismSrc-src")):
        assert values[metric] == pytest.approx(soft_accuracy(quality, made.metrics[f"en-de {name}"]))


def test_several_references_must_be_chosen_from(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    made = make_folder(tmp_path / "wmt22")
    assert main(["metaeval", str(made.folder), "--human-score", "mqm"]) == 2
    assert "several references (refA, refB)" in capsys.readouterr().err
    # A human translation that serves as the reference is not judged against itself.
    scores = made.folder / "human-scores" / "en-de.mqm.seg.score"
    scores.write_text(scores.read_text() + "refA\t0\n" * 6 + "refB\t-1\n" * 6, encoding="utf-8")
    words = (made.folder, "--reference", "refA", "--human-score", "mqm", "--humans", "-m", "chrf", "--draws", 20)
    assert tables(capsys, *words)[0]["caption"].startswith("wmt22 en-de: 5 systems,")


def test_domains_and_documents(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    made = make_folder(tmp_path / "set")
    words = (made.folder, "--reference", "refA", "--human-score", "mqm", "--protocol", "pdp")
    (table,) = tables(capsys, *words, "--split-by", "domains")
    rows = {row["domain"]: row for row in table["rows"]}
    assert list(rows) == ["news", "speech", "mean"]
    news = np.array([domain == "news" for domain in DOMAINS])
    expected = [
        difference_pearson(made.human["en-de"][:, part], made.metrics["en-de prismRef-refA"][:, part])
        for part in (news, ~news)
    ]
    assert [rows[name]["prismRef"] for name in ("news", "speech")] == pytest.approx(expected)
    assert rows["mean"]["prismRef"] == pytest.approx(np.mean(expected))
    (table,) = tables(capsys, *words, "--split-by", "documents")
    assert [row["document"] for row in table["rows"]] == ["n1", "n2", "s1", "s2", "mean"]
    assert table["bold"] == []


def test_suites_average_over_protocols_and_pairs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    make_folder(tmp_path / "set", ("en-de", "ja-zh"))
    words = (tmp_path / "set", "--reference", "refA", "--human-score", "esa", "--draws", 20)
    suite = tables(capsys, *words, "--protocol", "wmt24")[0]
    parts = [tables(capsys, *words, "--protocol", name)[2] for name in ("wmt24-sys", "wmt24-mqm")]
    assert [table["caption"] for table in parts] == [
        "soft-accuracy: all language pairs",
        "acc-t23: all language pairs",
    ]
    for metric in ("prismRef", "prismSrc"):
        means = [(column(table, "en-de")[metric] + column(table, "ja-zh")[metric]) / 2 for table in parts]
        assert column(suite, "average")[metric] == pytest.approx(np.mean(means))
    assert main(["metaeval", *map(str, words), "--protocol", "wmt24", "--statistic", "pdp"]) == 2
    assert "--statistic goes with one of them" in capsys.readouterr().err


def test_pearson_counts_from_0_to_1_in_an_average(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    make_folder(tmp_path / "set")
    words = (tmp_path / "set", "--reference", "refA", "--human-score", "esa", "--draws", 20)
    suite = tables(capsys, *words, "--protocol", "wmt23")[0]
    names = {
        "wmt23-sys": "accuracy",
        "wmt23-sys-pearson": "pearson",
        "wmt23-seg-pearson": "pearson",
        "wmt23-mqm": "acc_t23",
    }
    values = []
    for name, key in names.items():
        value = column(tables(capsys, *words, "--protocol", name)[0], key)["prismSrc"]
        values.append((value + 1) / 2 if key == "pearson" else value)
    assert column(suite, "average")["prismSrc"] == pytest.approx(np.mean(values))
    assert column(suite, "wmt23_mqm_acc_t23")["prismSrc"] == pytest.approx(values[-1])


def test_excluded_systems(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    make_folder(tmp_path / "set")
    words = [str(tmp_path / "set"), "--reference", "refA", "--human-score", "mqm", "--draws", "20", "--exclude"]
    assert "3 systems" in tables(capsys, *words, "sysD")[0]["caption"]
    assert main(["metaeval", *words, "sysX"]) == 2
    assert "has no system sysX; did you mean 'sys" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["jsonl", "tsv"])
def test_submissions_out_and_in(capsys: pytest.CaptureFixture[str], tmp_path: Path, ending: str) -> None:
    make_folder(tmp_path / "set", ("en-de", "ja-zh"))
    folder, out = str(tmp_path / "set"), tmp_path / "out"
    words = ["submit", folder, "--reference", "refA", "--human-score", "esa", "-m", "chrf", "-o", str(out)]
    assert main(["metaeval", *words, "--format", ending]) == 0
    assert capsys.readouterr().out.split() == [str(out / f"chrf.{ending}")]
    common = (folder, "--reference", "refA", "--human-score", "esa", "--draws", 20)
    computed = column(tables(capsys, *common, "-m", "chrf")[0], "tau_b")["chrf"]
    (out / f"chrf.{ending}").rename(out / f"mine.{ending}")
    read = column(tables(capsys, *common, "-s", out / f"mine.{ending}")[0], "tau_b")["mine"]
    assert read == pytest.approx(computed)


def test_a_blind_test_set_of_wmt_is_scored(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rows = [
        {
            "doc_id": "d",
            "segment_id": number,
            "source_lang": "en",
            "target_lang": "de",
            "set_id": "official",
            "system_id": system,
            "source_segment": "The cat.",
            "hypothesis_segment": f"Die Katze{mark}",
            "reference_segment": "Die Katze." if number < 3 else "NaN",
        }
        for system, mark in (("A", "."), ("B", ""))
        for number in (1, 2, 3)
    ]
    path = tmp_path / "test.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert main(["metaeval", "submit", str(path), "-m", "chrf", "-o", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    written = [json.loads(line) for line in (tmp_path / "out" / "chrf.jsonl").read_text().splitlines()]
    # The third segment has no reference.
    assert [(one["segment_id"], one["system_id"]) for one in written] == [
        ("1", "A"),
        ("1", "B"),
        ("2", "A"),
        ("2", "B"),
    ]
    assert written[0]["overall"] == 100.0
    assert written[1]["overall"] < 100.0
