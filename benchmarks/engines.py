"""Everything about the speed of scoring, in one command; run it on a quiet machine.

    python benchmarks/engines.py [--quick] [--large] [--model mini] [--output FOLDER]

1. the peers (`scoring.py`): every engine and precision beside the original tool's way, transformers and plain
   CTranslate2, as ratios and as a share of the matrix-multiply peak of the precision;
2. `mini` and random models of several shapes: texts per second, load time, peak memory of every engine and format;
3. a cold `prism score` of ten lines, with an empty and with a filled cache;
4. ten systems against one reference, relative to one system; cost against length, systems and lines, with plots;
5. workers of one thread beside one worker with all threads, and beside several processes;
6. a long input: peak memory of `prism score --segments` on lines that are drawn from few distinct pairs.

Every measurement has a process of its own, so that its peak memory is its own. `--large` adds a model of 745M
parameters (10 GB of memory and of disk); `--quick` only shows that everything runs.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from made import SENTENCES, make_model

from prism_mt._core.environment import available_cores, has_bfloat16
from prism_mt.cli.bench import made_up_pairs
from prism_mt.engines.base import EngineName, Pair
from prism_mt.engines.factory import EngineConfig, Precision, open_engine
from prism_mt.engines.scheduler import score_pairs
from prism_mt.models.directory import ModelDirectory, write_model
from prism_mt.models.resolve import open_model
from prism_mt.report.table import Column, Table, Value, number, render


def shape(width: int, layers: int, heads: int, inner: int, vocabulary: int) -> dict[str, int]:
    both = {"layers": layers, "heads": heads, "feed_forward": inner}
    sides = {f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in both.items()}
    return {"width": width, "source_vocabulary": vocabulary, "target_vocabulary": vocabulary, **sides}


SHAPES = {
    "60M": shape(512, 6, 8, 2048, 32_000),
    "745M": shape(1280, 8, 20, 12_288, 64_000),
}
PARTS = ("peers", "shapes", "start-up", "curves", "processes", "long-input")
LANGUAGES = ("de", "en", "fr")
SETTINGS: list[tuple[EngineName, Precision]] = [("ct2", "float32"), ("ct2", "int8"), ("torch", "float32")]
if has_bfloat16():
    SETTINGS.append(("torch", "bfloat16"))


def measure(words: Sequence[str], environment: dict[str, str] | None = None) -> tuple[float, float, str]:
    """Seconds, peak memory in MB and standard output of a command."""
    start = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})})
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"failed: {' '.join(words)}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024, output


def score_task(task: dict[str, Any]) -> dict[str, float]:
    """In a process of its own: load a model and score made-up pairs."""
    model = ModelDirectory(Path(task["model"]))
    pairs = made_up_pairs(model, task["texts"], task["pieces"])
    if systems := task.get("systems"):
        # Every output meets its reference in both directions; the references are shared by all systems.
        segments = task["texts"] // systems
        references = made_up_pairs(model, task["texts"] + segments, task["pieces"])[-segments:]
        pairs = [
            pair
            for place, output in enumerate(pairs)
            for pair in both_directions(output, references[place % len(references)])
        ]
    options = EngineConfig(
        engine=task["engine"],
        precision=task["precision"],
        device="cpu",
        threads=task.get("threads"),
        workers=task.get("workers"),
    )
    start = time.perf_counter()
    engine = open_engine(model, options)
    load = time.perf_counter() - start
    for _ in score_pairs(engine, pairs[:8]):
        pass
    start = time.perf_counter()
    for _ in score_pairs(engine, pairs):
        pass
    return {"load": load, "seconds": time.perf_counter() - start}


def both_directions(output: Pair, reference: Pair) -> tuple[Pair, Pair]:
    return Pair(reference.source, output.target), Pair(output.source, reference.target)


def in_own_process(**task: Any) -> dict[str, float]:
    _, memory, output = measure([sys.executable, __file__, "--task", json.dumps(task, default=str)])
    result: dict[str, float] = json.loads(output)
    return {**result, "memory": memory}


def make_shape(name: str, folder: Path) -> Path:
    """A random model of this shape; not made here, since a large process makes the peaks of its children as large."""
    made = folder / name
    measure([sys.executable, __file__, "--task", json.dumps({"make": name, "folder": str(made)})])
    return made


def shapes(models: dict[str, Path], texts: int) -> Table:
    rows: list[tuple[Value, ...]] = []
    for name, model in models.items():
        count = max(8, texts // 8) if name == "745M" else texts
        for engine, precision in SETTINGS:
            task = {"model": model, "engine": engine, "precision": precision, "pieces": 25}
            in_own_process(texts=8, **task)  # converts the model
            found = in_own_process(texts=count, **task)
            rate = count / found["seconds"]
            rows.append((name, f"{engine} {precision}", rate, found["load"], found["memory"]))
    columns = (Column("model"), Column("engine"), number("texts/s", 1), number("load s", 2), number("peak MB", 0))
    return Table(
        columns, tuple(rows), "Texts of 25 pieces given another, one direction; all but the first model are random"
    )


def write_lines(folder: Path, name: str, count: int, distinct: int) -> list[str]:
    """Files of parallel lines; returns the options that name them."""
    chance = random.Random(0)
    words = [word for sentence in SENTENCES for word in sentence.split()]
    texts = [[" ".join(chance.choices(words, k=12)) for _ in range(2)] for _ in range(distinct)]
    files = [folder / f"{name}.{side}" for side in ("cand", "ref")]
    with files[0].open("w", encoding="utf-8") as cand, files[1].open("w", encoding="utf-8") as ref:
        for place in range(count):
            output, reference = texts[place] if count == distinct else chance.choice(texts)
            cand.write(output + "\n")
            ref.write(reference + "\n")
    return ["--cand", str(files[0]), "--ref", str(files[1]), "--lang", "en", "--no-language-check"]


def start_up(model: str, folder: Path) -> Table:
    words = [sys.executable, "-m", "prism_mt", "score", "--model", model, *write_lines(folder, "ten", 10, 10)]
    home = {"PRISM_CACHE": str(folder / "home")}
    rows: list[tuple[Value, ...]] = []
    for what in ("first run ever: the model is converted", "no scores in the cache", "all scores in the cache"):
        extra = ["--no-cache"] if what.startswith("no scores") else []
        seconds, memory, _ = measure([*words, *extra], home)
        rows.append((what, seconds, memory))
    columns = (Column("cache"), number("seconds", 2), number("peak MB", 0))
    return Table(columns, tuple(rows), f"A cold `prism score` of ten lines with {model}")


def curves(model: Path, texts: int, folder: Path) -> Table:
    """Seconds against length, systems and lines; also drawn."""
    rows: list[tuple[Value, ...]] = []
    drawn: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for engine, precision in (SETTINGS[0], SETTINGS[-1]):
        common = {"model": model, "engine": engine, "precision": precision}
        sweeps: dict[str, tuple[Sequence[int], Callable[[int], dict[str, int]]]] = {
            "pieces per text": ((10, 25, 50, 100), lambda size: {"texts": texts // 2, "pieces": size}),
            "systems": ((1, 2, 5, 10), lambda size: {"texts": size * texts // 4, "pieces": 25, "systems": size}),
            "lines": ((texts // 4, texts // 2, texts), lambda size: {"texts": size, "pieces": 25}),
        }
        for what, (sizes, arguments) in sweeps.items():
            points = [(size, in_own_process(**common, **arguments(size))["seconds"]) for size in sizes]
            drawn.setdefault(what, {})[engine] = points
            rows.extend((engine, what, size, seconds, seconds / points[0][1]) for size, seconds in points)
    draw(drawn, folder / "cost.png")
    columns = (Column("engine"), Column("what"), Column("size", "d"), number("seconds", 2), number("× first", 2))
    return Table(columns, tuple(rows), "Cost against size")


def draw(drawn: dict[str, dict[str, list[tuple[int, float]]]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(drawn), figsize=(4 * len(drawn), 3), layout="constrained")
    for axis, (what, lines) in zip(axes, drawn.items(), strict=True):
        for engine, points in lines.items():
            axis.plot(*zip(*points, strict=True), marker="o", label=engine)
        axis.set(xlabel=what, ylabel="seconds", xlim=(0, None), ylim=(0, None))
        axis.legend()
    figure.savefig(path, dpi=120)


def processes(model: Path, texts: int) -> Table:
    """Is there anything to gain from more threads for a batch, or from more processes, each with its share?"""
    cores = available_cores()
    common = {"model": model, "engine": "ct2", "precision": "float32", "pieces": 25}
    together = in_own_process(texts=texts, threads=cores, **common)["seconds"]
    one_worker = in_own_process(texts=texts, threads=cores, workers=1, **common)["seconds"]

    def share(_: int) -> float:
        return in_own_process(texts=texts // cores, threads=1, **common)["seconds"]

    with ThreadPoolExecutor(cores) as pool:
        apart = max(pool.map(share, range(cores)))
    rows = (
        (f"1 process, {cores} workers of 1 thread", texts / together, 1.0),
        (f"1 process, 1 worker of {cores} threads", texts / one_worker, together / one_worker),
        (f"{cores} processes, 1 thread each", texts / apart, together / apart),
    )
    return Table(
        (Column("how"), number("texts/s", 1), number("× first", 2)), rows, "Threads, workers and processes, ct2"
    )


def long_input(model: str, lines: int, folder: Path) -> Table:
    command = [sys.executable, "-m", "prism_mt", "score", "--model", model, "--segments"]
    measure([*command, *write_lines(folder, "one", 1, 1)])  # converts the model
    rows: list[tuple[Value, ...]] = []
    for count in (lines // 20, lines):
        words = [*write_lines(folder, "long", count, min(5000, count // 2)), "--output", str(folder / "scores")]
        seconds, memory, _ = measure([*command, *words])
        rows.append((count, count / seconds, memory))
    columns = (Column("lines", ",d", "right"), number("lines/s", 0), number("peak MB", 0))
    return Table(columns, tuple(rows), "`prism score --segments` on lines from 5,000 distinct pairs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="mini", help="beside the random ones, and for start-up and curves")
    parser.add_argument("--large", action="store_true", help="also a model of 745M parameters")
    parser.add_argument("--quick", action="store_true", help="few texts: shows that it runs, not how fast")
    parser.add_argument("--output", type=Path, default=Path("benchmark-engines"), metavar="FOLDER")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--task", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        task = json.loads(options.task)
        if "make" in task:
            write_model(make_model(0, LANGUAGES, **SHAPES[task["make"]]), Path(task["folder"]))
        else:
            print(json.dumps(score_task(task)))
        return
    options.output.mkdir(parents=True, exist_ok=True)
    texts, lines = (16, 2_000) if options.quick else (512, 1_000_000)
    peers = Path(__file__).with_name("scoring.py")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        os.environ["PRISM_CACHE"] = str(folder / "cache")
        tiny = write_model(make_model(), folder / "tiny").folder
        names = ["60M", *(["745M"] if options.large else [])]
        models = {"tiny": tiny} if options.quick else {}
        if not options.quick:
            if "peers" in options.only:
                words = ["--models", options.model, *names, "--json", str(options.output / "peers.json")]
                subprocess.run([sys.executable, str(peers), *words], check=True)
            models[options.model] = open_model(options.model).folder
            for name in names:
                models[name] = make_shape(name, folder)
        first = next(iter(models.values()))
        tables = []
        steps: dict[str, Callable[[], Table]] = {
            "shapes": lambda: shapes(models, texts),
            "start-up": lambda: start_up(str(first), folder),
            "curves": lambda: curves(first, texts, options.output),
            "processes": lambda: processes(first, texts),
            "long-input": lambda: long_input(str(tiny), lines, folder),
        }
        for name, step in steps.items():
            if name in options.only:
                tables.append(step())
                print(render(tables[-1]), flush=True)
    text = "\n".join(map(render, tables))
    (options.output / "tables.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
