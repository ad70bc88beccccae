"""More samples: encoders, language models, learned metrics, and folders of judgments."""

from pathlib import Path
from typing import Any

import numpy as np


def e5(folder: Path) -> Path:
    from e5_files import make_e5

    return make_e5(folder / "e5.bin")


def read_e5(path: Path) -> Any:
    from prism_mt.encoders.e5 import read_e5 as read

    return read(path)


def language_model(folder: Path) -> Path:
    from tiny_bert import make_gpt

    make_gpt(folder / "gpt")
    return folder / "gpt"


def read_language_model(path: Path) -> Any:
    from prism_mt.metrics.lm import open_language_model

    return open_language_model(path, "en")


def learned_metric(folder: Path) -> Path:
    from prism_mt.metrics.learned import MetricSpec, write_metric
    from prism_mt.metrics.learned_network import network_shapes

    spec = MetricSpec("esim", "minilm", "0" * 64, "en", layers=2, width=4, hidden=3, pieces=100)
    shapes = network_shapes(spec.kind, spec.layers, spec.width, spec.hidden)
    write_metric(folder / "metric", spec, {name: np.ones(shape, np.float32) for name, shape in shapes.items()})
    return folder / "metric"


def read_learned_metric(path: Path) -> Any:
    from prism_mt.metrics.learned import read_spec, read_weights

    return read_weights(path, read_spec(path))


def judged_folder(folder: Path) -> Path:
    from mtme_folder import make_folder

    return make_folder(folder / "wmt").folder


def read_judged_folder(path: Path) -> Any:
    from prism_mt.evaluation.readers import read_all_judgments

    return read_all_judgments([path])


def ranked_segments(folder: Path) -> Path:
    from prism_mt.evaluation.ranking_pairs import RankedSegment, write_ranked

    folder.mkdir(parents=True, exist_ok=True)
    write_ranked(
        folder / "pairs.jsonl",
        [RankedSegment("en-de", str(number), "a", "b", ("c", "d"), (0.0, -1.0), ((0, 1),)) for number in range(3)],
    )
    return folder / "pairs.jsonl"


def read_ranked_segments(path: Path) -> Any:
    from prism_mt.evaluation.ranking_pairs import read_ranked

    return list(read_ranked(path))
