"""Long commands killed at random and started again: `python -m hostile.kill --kills 1000 --log kills.jsonl`.

Each ends with the result of an undisturbed run, nothing lost and nothing doubled: byte by byte, but for scores, whose
last digits depend on what else is in their batch. With a log, a run that was cut off goes on where it stopped.
"""

import argparse
import contextlib
import json
import math
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hostile.long_commands import COMMANDS, SMALL, Long, make_home

_NUMBER = re.compile(rb"-?\d+\.\d+(?:e-?\d+)?")
_MOST = 8
"""Kills before a run may end."""
_SHORTER = 0.8
"""Length of a run that goes on after a kill, by guess, in that of the run before."""
_PATIENCE = 900.0
"""Seconds after which a run that is left alone counts as hanging, also on a busy machine."""


def run(words: list[str], cache: str, told: str, seconds: float) -> None:
    """Run the command, but only for so many seconds of processor time, if any, and tell how many it took.

    The process dies by its own alarm: to watch it from outside, with enough looks to hit a run that takes a tenth of a
    second, costs as much as the run, and on a busy machine comes too late. Nothing handles that signal, so it ends the
    process as SIGKILL does. It leads a group, so that its workers can be killed with it.
    """
    from prism_mt.cli.main import main

    os.setpgrp()
    os.environ["PRISM_CACHE"] = cache
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)  # 0 is never
    start = time.process_time()
    code = main(words)
    Path(told).write_text(str(time.process_time() - start))
    sys.exit(code)


def fork_server() -> Any:
    """Processes that have imported everything when they start: imports would cost more than the rest."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["hostile.preload"])
    return context


@dataclass(frozen=True)
class Round:
    """A run that was killed so often and then ended; `wrong` says how its result differs, if it does."""

    command: str
    kills: int
    wrong: str


class Killer:
    """Starts and kills one command."""

    def __init__(self, command: Long, home: Path, place: Path) -> None:
        self.command, self.home, self.place = command, home, place
        self._context = fork_server()
        self._seconds = 0.0

    def start(self, name: str, seconds: float = 0.0) -> Any:
        """Run it with an output and a cache of this name until it ends or has used so many seconds, and return it."""
        out = self.place / name
        (out / "out").mkdir(parents=True, exist_ok=True)
        texts = f"--cand {self.home}/text --ref {self.home}/other --lang en --no-language-check {SMALL}"
        line = self.command.words.format(home=self.home, out=out / "out", texts=texts, small=SMALL)
        arguments = (line.split(), str(out / "cache"), str(self.place / "seconds"), seconds)
        process = self._context.Process(target=run, args=arguments)
        process.start()
        process.join(_PATIENCE)
        with contextlib.suppress(ProcessLookupError):  # its workers, or all of it if it hangs
            os.killpg(process.pid, signal.SIGKILL)
        process.join()
        return process

    def round(self, chance: random.Random) -> Round:
        """Kill it some times, and compare the result."""
        self._measure()
        most = chance.randint(1, _MOST)
        for kills in range(most + 1):
            # What was done is not done again, so a run that goes on is shorter.
            seconds = chance.uniform(0, self._seconds * _SHORTER**kills)
            process = self.start("killed", seconds if kills < most else 0.0)
            if process.exitcode != -signal.SIGPROF:
                break
        wrong = self._differs(process)
        shutil.rmtree(self.place / "killed")
        return Round(self.command.name, kills, wrong)

    def _measure(self) -> None:
        """Run it undisturbed, once."""
        if not self._seconds:
            process = self.start("calm")
            assert process.exitcode == 0, f"{self.command.name} fails undisturbed: exit {process.exitcode}"
            self._seconds = float((self.place / "seconds").read_text())

    def _differs(self, process: Any) -> str:
        if process.exitcode != 0:
            return f"exit {process.exitcode} after a kill"
        calm, killed = (self.place / name / "out" / self.command.result for name in ("calm", "killed"))
        return differing(calm, killed, self.command.exact)


def differing(calm: Path, killed: Path, exact: bool) -> str:
    """The first file that is not as it should be; empty where all are."""
    wanted, found = _files(calm), _files(killed)
    if odd := sorted(wanted.keys() ^ found.keys()):
        return f"{odd[0]} is {'missing' if odd[0] in wanted else 'too many'}"
    same = _same if exact else _close
    return next((f"{name} differs" for name in wanted if not same(wanted[name], found[name])), "")


def _files(place: Path) -> dict[str, bytes]:
    """Contents by name: of a folder, or of one file."""
    if place.is_file():
        return {place.name: place.read_bytes()}
    return {str(path.relative_to(place)): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


def _same(wanted: bytes, found: bytes) -> bool:
    return wanted == found


def _close(wanted: bytes, found: bytes) -> bool:
    numbers = [list(map(float, _NUMBER.findall(data))) for data in (wanted, found)]
    texts = [_NUMBER.sub(b"0", data) for data in (wanted, found)]
    return texts[0] == texts[1] and all(abs(one - other) < 1e-4 for one, other in zip(*numbers, strict=True))


def rounds(commands: list[Long], kills: int, seed: int, earlier: list[Round]) -> Iterator[Round]:
    """Rounds of every command in turn until there are so many kills in all, those of earlier rounds included."""
    parts = {command.name: 0.1 if command.rare else 1.0 for command in commands}
    goals = {name: math.ceil(kills * part / sum(parts.values())) for name, part in parts.items()}
    counts = Counter[str]()
    for one in earlier:
        counts[one.command] += one.kills
    number = len(earlier)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home.mkdir()
        make_home(home)
        killers = {one.name: Killer(one, home, Path(folder) / one.name.replace(" ", "-")) for one in commands}
        while open_ones := [name for name in goals if counts[name] < goals[name]]:
            name = min(open_ones, key=lambda name: counts[name] / goals[name])
            found = killers[name].round(random.Random(f"{name} {seed} {number}"))
            counts[name] += found.kills
            number += 1
            yield found


def kill_all(
    kills: int, seed: int, report: Callable[[str], None], names: tuple[str, ...] = (), log: Path | None = None
) -> int:
    """Kill commands so often in all, report each, and return how many rounds came to a wrong end."""
    chosen = [command for command in COMMANDS if not names or command.name in names]
    every = read_log(log) if log else []
    for found in rounds(chosen, kills, seed, list(every)):
        every.append(found)
        if log:
            with log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(found)) + "\n")
    for command in chosen:
        own = [one for one in every if one.command == command.name]
        wrong = [one.wrong for one in own if one.wrong]
        counted = f"{sum(one.kills for one in own)} kills in {len(own)} runs"
        report(f"{command.name}: {counted}: {'; '.join(wrong) or 'nothing lost or doubled'}")
    return sum(bool(one.wrong) for one in every)


def read_log(path: Path) -> list[Round]:
    """Rounds of an earlier run; a line that was cut off does not count."""
    found: list[Round] = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        with contextlib.suppress(ValueError):
            found.append(Round(**json.loads(line)))
    return found


def main() -> int:
    """Print one line per command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--command", nargs="*", default=[], help="only these")
    parser.add_argument(
        "--log", type=Path, help="file for every run and its kills, to go on after an interruption"
    )
    options = parser.parse_args()
    report: Callable[[str], None] = lambda line: print(line, flush=True)  # noqa: E731
    failures = kill_all(options.kills, options.seed, report, tuple(options.command), options.log)
    print(f"runs with a wrong end: {failures}")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
