"""How memory and time grow with the input: ten systems and more and more distinct segments, and `prism compare`.

    python benchmarks/scale.py [--segments 5000 10000 20000 40000] [--systems 10] [--compared 200000] [--output FOLDER]

1. `prism score` of ten systems with a tiny model, in which nearly all of the time is that of the code around it, every
   text a different one: seconds, CPU seconds, peak memory, and a plot (FOLDER/scale.png).
2. `prism compare` of three systems by BLEU: peak memory.

CPU seconds and memory do not need a quiet machine.
"""

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from comparing import measure
from made import SENTENCES, make_model

from prism_mt.models.directory import write_model
from prism_mt.report.table import Column, Table, Value, number, render


def write_texts(folder: Path, segments: int, systems: int) -> list[str]:
    """A reference and the systems' outputs; no two lines are equal but by chance. Returns their options."""
    chance = random.Random(segments)
    words = sorted({word for sentence in SENTENCES for word in sentence.split()})
    names = ["ref", *(f"system-{place}" for place in range(systems))]
    for name in names:
        with (folder / name).open("w", encoding="utf-8") as file:
            file.writelines(" ".join(chance.choices(words, k=12)) + "\n" for _ in range(segments))
    return ["--ref", str(folder / "ref"), "--cand", *(str(folder / name) for name in names[1:]), "--lang", "en"]


def draw(points: list[tuple[int, float, float]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(8, 3), layout="constrained")
    for axis, place, label in zip(axes, (1, 2), ("CPU seconds", "peak MB"), strict=True):
        axis.plot([point[0] for point in points], [point[place] for point in points], marker="o")
        axis.set(xlabel="segments", ylabel=label, xlim=(0, None), ylim=(0, None))
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--segments", type=int, nargs="+", default=[5_000, 10_000, 20_000, 40_000])
    parser.add_argument("--systems", type=int, default=10)
    parser.add_argument(
        "--compared", type=int, default=200_000, help="segments of `prism compare`; 0: not measured"
    )
    parser.add_argument("--output", type=Path, default=Path("benchmark-scale"), metavar="FOLDER")
    parser.add_argument("--quick", action="store_true", help="few lines: shows that it runs")
    options = parser.parse_args()
    if options.quick:
        options.segments, options.compared = [50, 100], 500
    options.output.mkdir(parents=True, exist_ok=True)
    prism = [sys.executable, "-m", "prism_mt"]
    columns = (
        *(Column("segments", ",d", "right"), Column("systems", "d", "right"), number("seconds", 1)),
        *(number("CPU s", 1), number("CPU ms a text", 3), number("peak MB", 0)),
    )
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        os.environ["PRISM_CACHE"] = str(folder / "cache")
        model = str(write_model(make_model(), folder / "tiny").folder)
        score = [*prism, "score", "--model", model, "--no-cache", "--no-language-check"]
        measure([*score, *write_texts(folder, 10, 1)])  # converts the model
        rows: list[tuple[Value, ...]] = []
        points = []
        for segments in options.segments:
            seconds, cpu, memory = measure([*score, *write_texts(folder, segments, options.systems)])
            rows.append((segments, options.systems, seconds, cpu, 1000 * cpu / segments / options.systems, memory))
            points.append((segments, cpu, memory))
            print(*rows[-1], file=sys.stderr, flush=True)
        print(
            render(Table(columns, tuple(rows), "`prism score` with a tiny model, every text different")),
            flush=True,
        )
        if options.compared:
            texts = write_texts(folder, options.compared, 3)
            seconds, cpu, memory = measure([*prism, "compare", "--metric", "bleu", "--no-language-check", *texts])
            row = (options.compared, 3, seconds, cpu, 1000 * cpu / options.compared / 3, memory)
            print(render(Table(columns, (row,), "`prism compare --metric bleu`")), flush=True)
    draw(points, options.output / "scale.png")  # last: the memory of this process counts as that of what it starts


if __name__ == "__main__":
    main()
