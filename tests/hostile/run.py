"""Run hostile cases in processes of their own, and sum up: `python -m hostile.run --cases 15000`.

A process that hangs, crashes or takes too much memory is ended, told of, and replaced.
"""

import argparse
import contextlib
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from hostile.cases import Bench, Case, Verdict
from hostile.readers import READERS

_PATIENCE = 120.0
"""Seconds after which a case hangs, whatever else the machine does."""
_PREPARATION = 300.0
"""Seconds for making a sample, which may import a lot."""
_MEMORY = 3 << 30
"""Bytes that a process may take: a case beyond it is a failure."""
_SUMMARY = ("traceback", "hang", "crash", "raw control character", "wrong exit code", "memory")


def plan(cases: int, seed: int, names: Sequence[str]) -> list[tuple[str, int]]:
    """As many cases of every reader, each with its own seed."""
    chosen = [reader.name for reader in READERS if not names or reader.name in names]
    return [(chosen[index % len(chosen)], seed + index // len(chosen)) for index in range(cases)]


def run(todo: Sequence[tuple[str, int]]) -> Iterator[Case]:
    """Try all cases in one process after another."""
    position = 0
    while position < len(todo):
        with _started() as (process, pipe):
            pipe.send(todo[position:])
            while position < len(todo):
                name, seed = todo[position]
                position += 1
                trouble = _wait(process, pipe, _PREPARATION) or _wait(process, pipe, _PATIENCE)
                if trouble:
                    yield Case(name, seed, trouble, f"exit {process.exitcode}")
                    break
                try:
                    yield pipe.recv()
                except EOFError:
                    process.join()
                    yield Case(name, seed, "crash", f"exit {process.exitcode}")
                    break


def _wait(process: Any, pipe: Connection, seconds: float) -> Verdict | None:
    """Wait for a message; None when it is there, and that of the preparation is taken."""
    deadline = time.monotonic() + seconds
    while not pipe.poll(0.2):
        if time.monotonic() > deadline:
            return "hang"
    try:
        if seconds == _PREPARATION:
            pipe.recv()
    except EOFError:
        process.join()
        return "crash"
    return None


@contextlib.contextmanager
def _started() -> Iterator[tuple[Any, Connection]]:
    context = multiprocessing.get_context("spawn")
    pipe, end = context.Pipe()
    process = context.Process(target=_work, args=(end,), daemon=True)
    process.start()
    end.close()
    try:
        yield process, pipe
    finally:
        process.kill()
        process.join()


def _work(pipe: Connection) -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PRISM_CACHE"] = str(Path(folder) / "cache")
        os.environ["HF_HUB_OFFLINE"] = "1"
        bench = Bench(Path(folder))
        for name, seed in pipe.recv():
            bench.prepare(name)
            pipe.send(None)
            pipe.send(bench.run(name, seed))


def main() -> int:
    """Print failures as they come, and the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=15_000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed; other seeds are other cases")
    parser.add_argument("--reader", nargs="*", default=[], help="only these")
    options = parser.parse_args()
    verdicts: Counter[str] = Counter()
    seconds: dict[str, float] = defaultdict(float)
    start = time.monotonic()
    for case in run(plan(options.cases, options.seed, options.reader)):
        verdicts[case.verdict] += 1
        seconds[case.reader] += case.seconds
        if case.verdict != "fine":
            print(f"{case.verdict}: {case.reader}, seed {case.seed}: {case.detail}", flush=True)
    print(f"cases: {sum(verdicts.values()):,} of {len(seconds)} readers in {time.monotonic() - start:.0f} s")
    slowest = ", ".join(
        f"{name} {spent:.0f} s" for name, spent in sorted(seconds.items(), key=lambda one: -one[1])[:5]
    )
    print(f"slowest: {slowest}")
    for verdict in _SUMMARY:
        print(f"{verdict}: {verdicts[verdict]}")
    return int(any(verdicts[verdict] for verdict in _SUMMARY))


if __name__ == "__main__":
    sys.exit(main())
