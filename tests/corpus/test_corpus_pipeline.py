"""The whole preparation on a corpus made up here: results, resumption, determinism."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import make_vocabulary
from made_corpus import CONFIG, command, run, same_files

from prism_mt.cli.main import main
from prism_mt.corpus.data_directory import ShardDataset, read_vocabularies
from prism_mt.corpus.executor import Processes, Ray


def test_counts_rejects_and_shards(corpus: Path) -> None:
    report = run(corpus, corpus / "out")
    totals = {step: numbers for step, *numbers in report.totals()}
    assert totals["read"] == [0, 750 + 89, 750 + 89]
    assert totals["normalize"] == [839, 839, 839]
    assert totals["deduplicate"] == [839, 789, 789]  # 50 pairs are in both sources
    assert totals["decontaminate"] == [789, 787, 787]  # sentence 3 in de-en and en-fr; de-fr does not have it
    assert totals["copies"][0] - totals["copies"][1] >= 1
    assert totals["sample"][2] == 900
    assert (corpus / "out" / "rejects.tsv").read_text("utf-8").splitlines() == [
        "file\tline\treason",
        "pairs.tsv\t89\t3 columns instead of 4",
        "pairs.tsv\t90\tempty de side",
    ]
    lines = (corpus / "out" / "report.tsv").read_text("utf-8").splitlines()
    assert lines[0].split("\t") == ["step", "pair", "before", "kept", "dropped", "after"]
    assert "deduplicate\tde-en\t339\t289\t50\t289" in lines
    assert not (corpus / "out" / "work").exists()
    train, valid = (ShardDataset(corpus / "out", part) for part in ("train", "valid"))
    assert len(train) == totals["training"][2]
    assert 0 < len(valid) == totals["validation"][2]
    assert totals["set aside"][0] > totals["set aside"][1] == len(valid)
    assert totals["set aside"][0] + totals["training"][0] == totals["pieces"][2]


def test_sources_may_have_a_vocabulary_of_their_own(corpus: Path, whole: Path) -> None:
    own = make_vocabulary().sentencepiece
    (corpus / "own.model").write_bytes(own)
    text = CONFIG.replace("[vocabulary]\n", '[vocabulary]\nsource_model = "own.model"\n').replace("= 60", "= 200")
    (corpus / "config.toml").write_text(text, "utf-8")
    run(corpus, corpus / "out")
    source, target = read_vocabularies(corpus / "out")
    assert source.sentencepiece == own
    for part in ("train", "valid"):
        data = ShardDataset(corpus / "out", part)
        assert len(data) == len(ShardDataset(whole, part))
        for row in range(0, len(data), 7):
            for pieces, as_source in zip(data.pair(row), data.pair_as_sources(row), strict=True):
                assert as_source.tolist() == source.encode(target.decode(pieces.tolist()))


def test_validation_sentences_are_in_no_training_row(whole: Path) -> None:
    sides: dict[str, set[bytes]] = {"train": set(), "valid": set()}
    for part, found in sides.items():
        data = ShardDataset(whole, part)  # type: ignore[arg-type]
        for number in range(len(data)):
            found.update(np.asarray(side, dtype=np.uint16).tobytes() for side in data.pair(number))
    # Of each validation row at least one sentence was set aside, so not all of them can be in training rows.
    data = ShardDataset(whole, "valid")
    for number in range(len(data)):
        pair = [np.asarray(side, dtype=np.uint16).tobytes() for side in data.pair(number)]
        assert not sides["train"].issuperset(pair)


def test_processes_give_the_same_files_as_one_process(corpus: Path, whole: Path) -> None:
    run(corpus, corpus / "out", Processes(2))
    assert same_files(whole, corpus / "out")


def test_a_ray_cluster_gives_the_same_files_as_one_process(corpus: Path, whole: Path) -> None:
    ray = pytest.importorskip("ray", reason="needs the extra ray")
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        run(corpus, corpus / "out", Ray("auto"))
    finally:
        ray.shutdown()
    assert same_files(whole, corpus / "out")


def test_ray_that_is_not_installed_is_one_sentence(
    corpus: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["corpus", "prepare", str(corpus / "config.toml"), "--root", str(corpus), "--ray", "auto"]) == 2
    assert "pip install 'prism-mt[ray]'" in capsys.readouterr().err


def test_another_seed_gives_another_sample(corpus: Path, whole: Path) -> None:
    (corpus / "config.toml").write_text(CONFIG.replace("seed = 7", "seed = 8"), "utf-8")
    run(corpus, corpus / "out")
    assert not same_files(whole, corpus / "out")


class Interrupted(Exception):
    pass


class StopsAfter:
    """Works like `Serial` and fails after some tasks, wherever that is."""

    def __init__(self, tasks: int) -> None:
        self.left = tasks

    def map(self, function: Callable[[Any, Any], Any], shared: Any, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            if not self.left:
                raise Interrupted
            self.left -= 1
            yield function(shared, item)


def test_interrupted_anywhere_and_resumed_gives_the_same_files(corpus: Path, whole: Path) -> None:
    for tasks in (3, 20, 45, 60):
        output = corpus / f"after-{tasks}"
        with pytest.raises(Interrupted):
            run(corpus, output, StopsAfter(tasks))
        run(corpus, output)
        assert same_files(whole, output)


def test_a_killed_process_is_resumed(corpus: Path) -> None:
    command = [sys.executable, "-m", "prism_mt", "corpus", "prepare", str(corpus / "config.toml")]
    command += ["--root", str(corpus), "--workers", "1", "--output"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([*command, str(corpus / "whole")], check=True, capture_output=True, env=environment)
    process = subprocess.Popen([*command, str(corpus / "killed")], stdout=subprocess.DEVNULL, env=environment)
    try:
        while not list((corpus / "killed").glob("work/stage-*/*.done.json")):
            assert process.poll() is None
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not (corpus / "killed" / "meta.json").exists()
    subprocess.run([*command, str(corpus / "killed")], check=True, capture_output=True, env=environment)
    assert same_files(corpus / "whole", corpus / "killed")


def test_unfinished_work_of_another_configuration_is_not_touched(corpus: Path) -> None:
    with pytest.raises(Interrupted):
        run(corpus, corpus / "out", StopsAfter(3))
    (corpus / "config.toml").write_text(CONFIG.replace("seed = 7", "seed = 8"), "utf-8")
    assert command(corpus, "out") == 2
    assert command(corpus, "out", "--restart") == 0


def test_work_that_was_half_removed_is_not_used(corpus: Path) -> None:
    with pytest.raises(Interrupted):
        run(corpus, corpus / "out", StopsAfter(3))
    (corpus / "out" / "work" / "plan.json").unlink()
    (corpus / "config.toml").write_text(CONFIG.replace("seed = 7", "seed = 8"), "utf-8")
    assert [command(corpus, output) for output in ("out", "whole")] == [0, 0]
    assert same_files(corpus / "whole", corpus / "out")


def test_steps_are_listed_with_their_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["corpus", "steps"]) == 0
    printed = capsys.readouterr().out
    assert "copies: Drops a pair if too many distinct 3-grams" in printed
    assert "    max_4grams (default 0.4)" in printed
    assert "    total (required)" in printed


def test_the_table_is_printed(
    corpus: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (corpus / "elsewhere").mkdir()
    monkeypatch.chdir(corpus / "elsewhere")
    assert main(["corpus", "prepare", "../config.toml", "--workers", "1"]) == 0
    assert (corpus / "prepared" / "meta.json").exists()
    printed = capsys.readouterr().out
    assert "near" not in printed
    assert all(word in printed for word in ("deduplicate", "de-en", "2 lines were rejected"))
