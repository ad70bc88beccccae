"""The whole preparation on a corpus made up here: results, resumption, determinism and mistakes."""

import errno
import filecmp
import json
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

from prism_mt.cli.main import main
from prism_mt.config import load_toml
from prism_mt.corpus.config import CorpusConfig
from prism_mt.corpus.executor import Executor, Processes, Ray, Serial
from prism_mt.corpus.pipeline import open_preparation, prepare
from prism_mt.corpus.report import Report
from prism_mt.training.shards import ShardDataset

CONFIG = """
languages = ["de", "en", "fr"]
heldout = ["test.tsv"]
seed = 7

[[source]]
path = "multi.jsonl"

[[source]]
path = "pairs.tsv"
group = "web"

[[step]]
kind = "normalise"

[[step]]
kind = "length"

[[step]]
kind = "deduplicate"

[[step]]
kind = "decontaminate"

[[step]]
kind = "copies"
pieces = 400
sentences = 1000

[[step]]
kind = "minimum"
pair = 5

[[step]]
kind = "sample"
total = 900
temperature = 2.0
max_repeat = 2.0

[vocabulary]
size = 380
sentences = 2000

[shards]
max_pieces = 60
valid = 5
valid_share = 0.02
"""

SUBJECTS = {
    "en": ["the dog", "the old man", "a teacher", "my sister", "the green bird", "our neighbour"],
    "de": ["der Hund", "der alte Mann", "ein Lehrer", "meine Schwester", "der grüne Vogel", "unser Nachbar"],
    "fr": ["le chien", "le vieil homme", "un professeur", "ma sœur", "l'oiseau vert", "notre voisin"],
}
VERBS = {
    "en": ["sees", "has found", "never forgets", "will buy", "wants to paint", "has lost"],
    "de": ["sieht", "fand gestern", "vergisst nie", "kauft bald", "malt gern", "verlor"],
    "fr": ["voit", "a trouvé", "n'oublie jamais", "achètera", "veut peindre", "a perdu"],
}
OBJECTS = {
    "en": ["bread", "a house", "the sea", "ten letters", "this garden", "that song", "snow", "money"],
    "de": ["Brot", "ein Haus", "das Meer", "zehn Briefe", "diesen Garten", "jenes Lied", "Schnee", "Geld"],
    "fr": ["du pain", "une maison", "la mer", "dix lettres", "ce jardin", "cette chanson", "la neige", "l'argent"],
}


def sentence(language: str, number: int) -> str:
    words = (SUBJECTS[language][number % 6], VERBS[language][number // 6 % 6], OBJECTS[language][number // 36 % 8])
    return " ".join(words) + "."


# Several chunks from little text.
SMALL_BLOCKS = {"tsv": 2000, "jsonl": 2000, "moses": 2000, "tmx": 2000}


def make_corpus(folder: Path) -> Path:
    multi = [{code: sentence(code, number) for code in ("en", "de", "fr")} for number in range(250)]
    (folder / "multi.jsonl").write_text("".join(json.dumps(row) + "\n" for row in multi), "utf-8")
    pairs = [f"en\tde\t{sentence('en', number)}\t{sentence('de', number)}" for number in range(200, 288)]
    pairs += ["en\tde\tonly three", "de\ten\t\tempty", "de\ten\tcopied words stay here\tcopied words stay here"]
    (folder / "pairs.tsv").write_text("\n".join(pairs) + "\n", "utf-8")
    (folder / "test.tsv").write_text(f"en\tde\t{sentence('en', 3).upper()}\tx\n", "utf-8")
    (folder / "config.toml").write_text(CONFIG, "utf-8")
    return folder


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("prism_mt.corpus.readers._BLOCK_BYTES", SMALL_BLOCKS)
    return make_corpus(tmp_path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output of an uninterrupted run in one process."""
    folder = make_corpus(tmp_path_factory.mktemp("whole"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("prism_mt.corpus.readers._BLOCK_BYTES", SMALL_BLOCKS)
        run(folder, folder / "out")
    return folder / "out"


def run(corpus: Path, output: Path, executor: Executor | None = None) -> Report:
    loaded = load_toml(corpus / "config.toml", CorpusConfig)
    return prepare(open_preparation(loaded, corpus, output, "config.toml"), executor or Serial())


def same_files(first: Path, second: Path) -> bool:
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(path.name for path in second.iterdir())
    return filecmp.cmpfiles(first, second, names, shallow=False) == (names, [], [])


def test_counts_rejects_and_shards(corpus: Path) -> None:
    report = run(corpus, corpus / "out")
    totals = {step: numbers for step, *numbers in report.totals()}
    assert totals["read"] == [0, 750 + 89, 750 + 89]
    assert totals["normalise"] == [839, 839, 839]
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
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
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


def command(corpus: Path, output: str, *more: str) -> int:
    words = ["corpus", "prepare", str(corpus / "config.toml"), "--root", str(corpus), "--workers", "1"]
    return main([*words, "--output", str(corpus / output), *more])


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


def failure(corpus: Path, capsys: pytest.CaptureFixture[str], config: str) -> str:
    (corpus / "config.toml").write_text(config, "utf-8")
    assert command(corpus, "out") == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    return message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"de", "en", "fr"', '"de", "en", "qqx"', "unknown language 'qqx'"),
        ('"de", "en", "fr"', '"deu", "en", "fr"', "write the language deu as de"),
        ("seed = 7", "seeds = 7", "unknown key seeds"),
        ("total = 900", "totals = 900", "step 7 (sample): unknown key totals"),
        ('kind = "length"', 'kind = "lenght"', "unknown kind of step 'lenght'"),
        ('heldout = ["test.tsv"]', 'heldout = ["multi.jsonl"]', "both a source and held out"),
        ('heldout = ["test.tsv"]', 'heldout = ["none.tsv"]', "no file matches"),
        ('path = "multi.jsonl"', 'path = "multi.jsonl"\npairs = ["en-nl"]', "name nl, which is no language"),
        ("max_repeat = 2.0", "max_repeat = 2.0\nlanguages = { zh = 2 }", "the language zh of a step"),
        ("max_repeat = 2.0", "max_repeat = 0.0", "must be above 0"),
        ("max_repeat = 2.0", "shares = { film = 1 }", "the group film of a step"),
        ('kind = "normalise"', 'kind = "margin"\nthresholds = { film = 1.1 }', "the group film of a step"),
        ('kind = "normalise"', 'kind = "margin"\nencoder = "laser"', "laser needs the folder"),
        ("size = 380", "size = 38000", "could not be trained with 38000 pieces"),
        (
            'languages = ["de", "en", "fr"]',
            'languages = ["nl", "it"]',
            "no rows are left after the step deduplicate",
        ),
    ],
)
def test_mistakes_end_in_one_sentence(
    corpus: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, message: str
) -> None:
    assert message in failure(corpus, capsys, CONFIG.replace(old, new))


def test_training_rows_that_are_held_out_are_an_error(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = CONFIG.replace('[[step]]\nkind = "decontaminate"\n', "")
    message = failure(corpus, capsys, config)
    assert "rows have a sentence of the held-out files (test.tsv)" in message
    assert not (corpus / "out" / "meta.json").exists()


def test_a_full_disk_is_one_sentence(
    corpus: Path, whole: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    def fsync(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls > 10:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        assert "No space left on device" in failure(corpus, capsys, CONFIG)
    # With room again the run goes on.
    run(corpus, corpus / "out")
    assert same_files(whole, corpus / "out")


def test_steps_are_listed_with_their_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["corpus", "steps"]) == 0
    printed = capsys.readouterr().out
    assert "copies: Drops a pair when too many distinct 3-grams" in printed
    assert "    max_4grams (default 0.4)" in printed
    assert "    total (needed)" in printed


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
