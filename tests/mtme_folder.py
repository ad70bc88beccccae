"""A folder in the layout of mt-metrics-eval, small enough to judge by hand."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

SYSTEMS = ("sysA", "sysB", "sysC", "sysD")
DOMAINS = ("news", "news", "news", "speech", "speech", "speech")
DOCUMENTS = ("n1", "n1", "n2", "s1", "s1", "s2")
_WORDS = ["der", "die", "Hund", "Katze", "sieht", "heute", "Haus", "rot", "alt", "schnell"]


@dataclass(frozen=True)
class Made:
    """Where the folder is and what it holds: scores by name, systems × segments."""

    folder: Path
    human: dict[str, np.ndarray]
    metrics: dict[str, np.ndarray]


def make_folder(folder: Path, pairs: tuple[str, ...] = ("en-de",)) -> Made:
    """Write sources, two references, outputs, documents, MQM and ESA, and metrics in several variants."""
    rng = np.random.default_rng(5)
    human: dict[str, np.ndarray] = {}
    metrics: dict[str, np.ndarray] = {}
    for pair in pairs:
        quality = rng.integers(0, 6, (4, 6)).astype(np.float64)
        human[pair] = -quality
        _write_texts(folder, pair, quality, rng)
        _write_scores(folder / "human-scores" / f"{pair}.mqm", -quality, hole=(0, 5))
        human[pair][0, 5] = np.nan
        _write_scores(folder / "human-scores" / f"{pair}.esa", 100 - 10 * quality)
        for name, noise in (("prismRef-refA", 1.0), ("prismRef-refB", 9.0), ("prismSrc-src", 2.0)):
            scores = np.round(-quality + rng.normal(scale=noise, size=quality.shape), 3)
            metrics[f"{pair} {name}"] = scores
            _write_scores(folder / "metric-scores" / pair / name, scores)
    return Made(folder, human, metrics)


def _write_texts(folder: Path, pair: str, quality: np.ndarray, rng: np.random.Generator) -> None:
    references = [" ".join(rng.choice(_WORDS, 8)) for _ in DOCUMENTS]
    _write(folder / "sources" / f"{pair}.txt", [f"source {place}" for place in range(6)])
    _write(folder / "documents" / f"{pair}.docs", [" ".join(two) for two in zip(DOMAINS, DOCUMENTS, strict=True)])
    for name in ("refA", "refB"):
        texts = references if name == "refA" else references[::-1]
        _write(folder / "references" / f"{pair}.{name}.txt", texts)
        _write(folder / "system-outputs" / pair / f"{name}.txt", texts)
    for row, system in enumerate(SYSTEMS):
        outputs = []
        for reference, errors in zip(references, quality[row].astype(int), strict=True):
            words = reference.split()
            outputs.append(" ".join(["falsch"] * errors + words[errors:]))
        _write(folder / "system-outputs" / pair / f"{system}.txt", outputs)


def _write_scores(base: Path, scores: np.ndarray, hole: tuple[int, int] | None = None) -> None:
    lines = []
    for row, system in enumerate(SYSTEMS):
        for column in range(6):
            lines.append(f"{system}\t{'None' if (row, column) == hole else scores[row, column]}")
    _write(base.with_name(f"{base.name}.seg.score"), lines)
    means = [f"{system}\t{scores[row].mean()}" for row, system in enumerate(SYSTEMS)]
    _write(base.with_name(f"{base.name}.sys.score"), means)


def _write(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
