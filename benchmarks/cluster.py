"""What Ray costs on one machine: the same pairs with and without it, in one process, engines loaded before.

    python benchmarks/cluster.py [--pairs 1024] [--repeat 3] [--model mini]

The local engine has a worker per core; with Ray there is an actor per core. Pairs are made up and have natural lengths.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from scoring import make_pairs

from prism_mt.engines.factory import EngineConfig, open_engine
from prism_mt.engines.scheduler import CLUSTER_WINDOW, score_pairs
from prism_mt.models.resolve import open_model
from prism_mt.report.table import Column, Table, Value, number, render


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1024)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--model", default="mini")
    options = parser.parse_args()
    model = open_model(options.model)
    pairs = make_pairs(model, options.pairs)
    engines = {
        "without Ray": open_engine(model, EngineConfig(engine="ct2", cache=False)),
        "with Ray": open_engine(model, EngineConfig(engine="ct2", ray="local", threads=1, cache=False)),
    }
    best = dict.fromkeys(engines, float("inf"))
    for name, engine in engines.items():
        for _ in score_pairs(engine, pairs[: max(8, options.pairs // 8)]):
            pass
        for _ in range(options.repeat):
            start = time.perf_counter()
            for _ in score_pairs(engine, pairs, window=CLUSTER_WINDOW):
                pass
            best[name] = min(best[name], time.perf_counter() - start)
    first = best["without Ray"]
    rows: list[tuple[Value, ...]] = [
        (name, seconds, len(pairs) / seconds, 100 * (seconds / first - 1)) for name, seconds in best.items()
    ]
    columns = (Column("how"), number("seconds", 2), number("pairs/s", 1), number("overhead %", 1))
    print(render(Table(columns, tuple(rows), f"{len(pairs):,} pairs, best of {options.repeat}")), end="")


if __name__ == "__main__":
    main()
