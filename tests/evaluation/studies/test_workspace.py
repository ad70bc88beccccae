"""What a run remembers, and the public folders that serve in the place of files."""

import dataclasses
import json
from pathlib import Path

import pytest
from sacrebleu.metrics.chrf import CHRF

from prism_mt._core.cache import Store
from prism_mt.evaluation.studies import data
from prism_mt.evaluation.studies.data import Archive, Catalog, DataFile, DataFolder
from prism_mt.evaluation.studies.workspace import Workspace
from prism_mt.evaluation.sweep import find_metric
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.sacrebleu import Chrf


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files = [DataFile("one.tsv", "", 0, "", []), DataFile("two.jsonl.xz", "", 0, "", [], "pack/wmt21.news")]
    files.append(DataFile("four.jsonl", "", 0, "", []))
    files.append(DataFile("three.json.xz", "", 0, "", [], "pack/scores/en-de"))
    made = Catalog(files, [Archive("pack", "", "")])
    monkeypatch.setattr(data, "catalog", lambda: made)
    (tmp_path / "judgments").mkdir()
    (tmp_path / "judgments" / "one.tsv").write_text("lp\tsystem\tda_z\nen-de\tA\t0.5\nen-de\tB\t0.1\n", "utf-8")
    return tmp_path


def workspace(folder: Path, fresh: bool = False) -> Workspace:
    store = Store("studies", folder / "studies.sqlite")
    return Workspace(DataFolder(folder), Runtime(), store=store, fresh=fresh)


def test_judgments_are_found_and_read_once(folder: Path) -> None:
    work = workspace(folder)
    assert work.judgments("one.tsv", "en-de").system_means().tolist() == [0.5, 0.1]
    assert work.judgments("one.tsv", "en-de") is work.judgments("one.tsv", "en-de")


def test_a_later_run_does_not_compute_again_what_an_earlier_one_has(folder: Path) -> None:
    asked = []

    def compute() -> list[float]:
        asked.append(1)
        return [1.5, float("nan")]

    for _ in range(2):
        assert workspace(folder).remember("what", ("one.tsv",), compute)[0] == 1.5
    assert len(asked) == 1
    workspace(folder).remember("other", ("one.tsv",), compute)
    workspace(folder, fresh=True).remember("what", ("one.tsv",), compute)
    assert len(asked) == 3
    (folder / "judgments" / "one.tsv").write_text("lp\tsystem\tda_z\nen-de\tA\t0.7\n", "utf-8")
    workspace(folder).remember("what", ("one.tsv",), compute)
    assert len(asked) == 4


def test_results_of_earlier_runs_are_counted_and_those_of_this_one_are_not(folder: Path) -> None:
    first, second = workspace(folder), workspace(folder)
    for work in (first, first, second, second):
        work.remember("what", (), lambda: 1.5)
    assert (first.known, second.known) == (0, 1)


def test_systems_are_scored_as_a_whole_or_by_the_mean_of_their_segments(folder: Path) -> None:
    metric = Chrf()
    texts = {"A": ("a long enough hypothesis", "no"), "B": ("nothing alike", "yes")}
    reference = ("a long enough reference", "yes")
    lines = [
        json.dumps(
            {
                "lp": "en-de",
                "sid": row,
                "ref": reference[row],
                "sys": {name: one[row] for name, one in texts.items()},
            }
        )
        for row in range(2)
    ]
    (folder / "judgments" / "four.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    work = workspace(folder)
    whole = work.system_scores(metric, "en-de", "one.tsv", "four.jsonl")
    means = work.system_scores(metric, "en-de", "one.tsv", "four.jsonl", means=True)
    assert set(work.system_scores(metric, "en-de", "one.tsv", "four.jsonl", best=1)) == {"A"}
    peer = CHRF()
    for name, outputs in texts.items():
        scores = [peer.sentence_score(out, [ref]).score for out, ref in zip(outputs, reference, strict=True)]
        assert means[name] == pytest.approx(sum(scores) / 2)
        assert whole[name] == pytest.approx(peer.corpus_score(outputs, [reference]).score)


def test_a_folder_of_mt_metrics_eval_serves_in_the_place_of_a_file(folder: Path) -> None:
    inner = folder / "pack" / "wmt21.news"
    for place, lines in {
        "sources/en-de.txt": "one\ntwo\n",
        "references/en-de.refC.txt": "eins\nzwei\n",
        "system-outputs/en-de/A.txt": "ein\nzwo\n",
        "system-outputs/en-de/B.txt": "eins\nzwei\n",
        "human-scores/en-de.mqm.seg.score": "A\t-5\nA\t-1\nB\t0\nB\t0\n",
        "human-scores/en-de.wmt-z.seg.score": "A\t1\nA\t1\nB\t0\nB\t0\n",
        "documents/en-de.docs": "news\tdoc\nnews\tdoc\n",
    }.items():
        (inner / place).parent.mkdir(parents=True, exist_ok=True)
        (inner / place).write_text(lines, "utf-8")
    judgments = workspace(folder).judgments("two.jsonl.xz", "en-de")
    assert judgments.scores.tolist() == [[-5, -1], [0, 0]]
    assert judgments.texts is not None


def test_a_folder_of_published_scores_serves_in_the_place_of_a_file(folder: Path) -> None:
    scores = folder / "pack" / "scores" / "en-de"
    scores.mkdir(parents=True)
    for name in ("Prism-ref-refC", "Prism-paper_main_checkpoint1.pt-ref-refC"):
        (scores / f"{name}.seg.score").write_text("A\t-0.5\nA\t-0.25\n", "utf-8")
        (scores / f"{name}.sys.score").write_text("A\t-0.375\n", "utf-8")
    work = workspace(folder)
    found = [
        find_metric(work.scores("three.json.xz"), one) for one in ("Prism-ref", "Prism-paper_main_checkpoint1.pt")
    ]
    assert [one.segments.tolist() for one in found] == [[[-0.5, -0.25]]] * 2
    before = work.remember("what", ("three.json.xz",), lambda: 1)
    (scores / "Other.seg.score").write_text("A\t1\nA\t1\n", "utf-8")
    assert (before, workspace(folder).remember("what", ("three.json.xz",), lambda: 2)) == (1, 2)


def test_the_model_is_part_of_what_is_the_same(folder: Path) -> None:
    work = workspace(folder)
    assert work.model_identity == ""
    work.model = "mini"
    assert work.model_identity.endswith(" auto float32")
    assert dataclasses.replace(work.runtime.config, precision="int8").precision == "int8"
