"""What an update of fine-tuning takes: all weights or low-rank adapters, in float32 or bfloat16.

    python benchmarks/finetuning_cost.py [--large] [--pieces 100] [--rank 16]

One segment of ten outputs, for `mini` and random models of larger shapes: memory before the update and at its peak,
and the time of one update with a validation before and after it. Every measurement has a process of its own.
`--large` adds a model of 745M parameters (12 GB of memory, 3 GB of disk).
"""

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from engines import make_shape, measure  # which also makes the next import possible
from made import SENTENCES

from prism_mt.evaluation.ranking_pairs import RankedSegment, write_ranked
from prism_mt.models.resolve import open_model
from prism_mt.report.table import Column, Table, Value, number, render

OUTPUTS = 10
SETTINGS = [(adapted, precision) for adapted in (False, True) for precision in ("float32", "bfloat16")]


def write_pairs(path: Path, model: Path, pieces: int) -> None:
    """One segment whose texts are as long as asked for."""
    chance = random.Random(1)
    words = [word for sentence in SENTENCES for word in sentence.split()]
    vocabulary = open_model(str(model)).source

    def text() -> str:
        found = ""
        while True:
            longer = f"{found} {chance.choice(words)}".strip()
            if len(vocabulary.encode(longer)) > pieces:
                return found
            found = longer

    texts = [text() for _ in range(OUTPUTS + 2)]
    scores = tuple(float(-place) for place in range(OUTPUTS))
    pairs = tuple((better, better + 1) for better in range(OUTPUTS - 1))
    write_ranked(path, [RankedSegment("en-de", "1", texts[0], texts[1], tuple(texts[2:]), scores, pairs)])


def memory(kind: str) -> float:
    """GB that this process has (VmRSS) or has had at most (VmHWM)."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    [kilobytes] = [line.split()[1] for line in status.splitlines() if line.startswith(kind)]
    return int(kilobytes) / 2**20


def update_once(task: dict[str, Any]) -> dict[str, float]:
    """In a process of its own: one update, without what loading took."""
    import torch

    from prism_mt.training.config import Limits
    from prism_mt.training.distributed import World
    from prism_mt.training.loop import Loop
    from prism_mt.training.ranking.config import Adapters, FinetuneConfig, RankingValidation
    from prism_mt.training.ranking.objective import RankingObjective

    pairs = (Path(task["pairs"]),)
    config = FinetuneConfig(
        name="cost",
        train=pairs,
        valid=pairs,
        model=task["model"],
        output=Path(task["output"]),
        precision=task["precision"],
        adapters=Adapters(task["rank"]),
        limits=Limits(steps=1),
        validation=RankingValidation(every=1),
    )
    world = World(0, 1, torch.device("cpu"))
    loop = Loop(RankingObjective(config, world), config, world, resume=False)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before, start = memory("VmRSS"), time.perf_counter()
    loop.run()
    return {"before": before, "peak": memory("VmHWM"), "seconds": time.perf_counter() - start}


def cost(name: str, model: Path, folder: Path, options: argparse.Namespace) -> list[tuple[Value, ...]]:
    pairs = folder / f"{name}.jsonl"
    write_pairs(pairs, model, options.pieces)
    rows: list[tuple[Value, ...]] = []
    for adapted, precision in SETTINGS:
        rank = options.rank if adapted else 0
        task = {"model": model, "pairs": pairs, "output": folder / "run", "rank": rank, "precision": precision}
        _, _, output = measure([sys.executable, __file__, "--task", json.dumps(task, default=str)])
        found = json.loads(output)
        trained = f"rank {rank}" if adapted else "all weights"
        rows.append((name, trained, precision, found["before"], found["peak"], found["seconds"]))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true", help="also a model of 745M parameters")
    parser.add_argument("--pieces", type=int, default=100, help="of every text")
    parser.add_argument("--rank", type=int, default=16, help="of the adapters")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        print(json.dumps(update_once(json.loads(options.task))))
        return
    rows: list[tuple[Value, ...]] = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name in ["mini", "60M", *(["745M"] if options.large else [])]:
            model = open_model(name).folder if name == "mini" else make_shape(name, folder)
            rows += cost(name, model, folder, options)
    columns = (Column("model"), Column("trained"), Column("precision"))
    numbers = (number("before GB", 2), number("peak GB", 2), number("seconds", 1))
    title = f"One update on a segment of {OUTPUTS} outputs of {options.pieces} pieces"
    print(render(Table((*columns, *numbers), tuple(rows), title)))


if __name__ == "__main__":
    main()
