"""A `prism score` that is killed twenty times and started again ends with the scores of an undisturbed run."""

import os
import random
import shutil
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hostile.kill import differing, fork_server, kill_all, read_log
from hostile.long_commands import COMMANDS
from made import SENTENCES, make_model

from prism_mt.models.directory import write_model

KILLS = 20
LINES = 300
SLOW = ("train", "finetune", "metric train")
"""A kill of these costs several seconds, and all tests together have to end within a quarter of an hour."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs processes that are forked from a server")


def run(words: list[str], cache: str) -> None:
    """The command, in a process of its own."""
    from prism_mt.cli.main import main

    os.environ["PRISM_CACHE"] = cache
    sys.exit(main(words))


def entries(cache: Path) -> int:
    """How many scores are safe on disk."""
    try:
        with closing(sqlite3.connect(f"file:{cache / 'scores.sqlite'}?mode=ro", uri=True)) as database:
            return int(database.execute("SELECT count(*) FROM entries").fetchone()[0])
    except sqlite3.OperationalError:  # not made yet
        return 0


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    model = write_model(make_model(), tmp_path / "made").folder
    chance = random.Random(1)
    vocabulary = [word for sentence in SENTENCES for word in sentence.split()]
    for name in ("cand", "ref"):
        lines = [" ".join(chance.choices(vocabulary, k=chance.randint(1, 6))) for _ in range(LINES)]
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    texts = ["--cand", str(tmp_path / "cand"), "--ref", str(tmp_path / "ref"), "--lang", "en"]
    small = ["--batch-tokens", "400", "--device", "cpu", "--threads", "1", "--no-language-check"]
    return ["score", "--model", str(model), *texts, *small, "--segments", "--format", "tsv", "--output"]


def test_twenty_kills(tmp_path: Path, words: list[str]) -> None:
    context = fork_server()
    calm, cache = tmp_path / "calm", tmp_path / "cache"

    def start(output: str, folder: Path) -> Any:
        process = context.Process(target=run, args=([*words, str(tmp_path / output)], str(folder)))
        process.start()
        return process

    undisturbed = start("undisturbed.tsv", calm)
    undisturbed.join(120)
    assert undisturbed.exitcode == 0
    shutil.copytree(calm / "ct2", cache / "ct2")  # making it anew for every kill would only take time
    chance, before = random.Random(2), 0
    for _ in range(KILLS):
        goal = before + chance.randint(0, entries(calm) // (KILLS + 5))
        process = start("killed.tsv", cache)
        while process.is_alive() and entries(cache) < goal:
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.02))
        process.kill()
        process.join()
        after = entries(cache)
        assert after >= before  # nothing that was done is lost
        before = after
        if process.exitcode == 0:  # it was faster than the kill
            break
        assert {path.suffix for path in tmp_path.glob("killed.*")} <= {".partial"}
    last = start("killed.tsv", cache)
    last.join(120)
    assert last.exitcode == 0
    assert entries(cache) == entries(calm)
    wanted, found = ((tmp_path / name).read_text().splitlines() for name in ("undisturbed.tsv", "killed.tsv"))
    assert len(found) == LINES + 2
    assert [line.rpartition("\t")[0] for line in found[2:]] == [line.rpartition("\t")[0] for line in wanted[2:]]
    scores, others = ([float(line.rpartition("\t")[2]) for line in lines[2:]] for lines in (found, wanted))
    assert scores == pytest.approx(others, abs=1e-5)


@pytest.mark.parametrize("name", [command.name for command in COMMANDS if command.name != "score"])
def test_other_long_commands(name: str, tmp_path: Path) -> None:
    """A few kills each, twenty in CI but for those that take longest; `make hostile` has a thousand."""
    pytest.importorskip("torch", reason="needs the extra train")
    told: list[str] = []
    rare = any(command.rare for command in COMMANDS if command.name == name)
    kills = KILLS if os.environ.get("CI") and not rare and name not in SLOW else 3
    log = tmp_path / "kills.jsonl"
    assert kill_all(kills, seed=1, report=told.append, names=(name,), log=log) == 0, told
    assert sum(one.kills for one in read_log(log)) >= kills


def test_a_log_counts(tmp_path: Path) -> None:
    """A run that was cut off goes on: kills of the log are not made again, and its wrong ends stay wrong."""
    log, told = tmp_path / "kills.jsonl", list[str]()
    log.write_text('{"command": "score", "kills": 7, "wrong": "x differs"}\n{"command": "sco', "utf-8")
    assert kill_all(7, seed=1, report=told.append, names=("score",), log=log) == 1
    assert told == ["score: 7 kills in 1 runs: x differs"]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, ""),
        ({"a": b"1 -2.50000"}, "a differs"),
        ({"a": b"1 -2.49999"}, ""),
        ({"b": b""}, "b is too many"),
        ({"a": None}, "a is missing"),
    ],
)
def test_what_differs(tmp_path: Path, change: dict[str, bytes | None], found: str) -> None:
    whole: dict[str, bytes | None] = {"a": b"1 -2.4999"}
    for place, files in (("calm", whole), ("killed", whole | change)):
        (tmp_path / place).mkdir()
        for name, data in files.items():
            if data is not None:
                (tmp_path / place / name).write_bytes(data)
    assert differing(tmp_path / "calm", tmp_path / "killed", exact=False) == found
