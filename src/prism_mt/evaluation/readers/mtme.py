"""Directories in the layout of mt-metrics-eval: one test set with sources, references, outputs and scores.

`human-scores/LP.KIND.seg.score`, `human-scores/LP.KIND.sys.score`, `sources/LP.txt`, `references/LP.NAME.txt`,
`system-outputs/LP/SYSTEM.txt`, `metric-scores/LP/METRIC-REFERENCE.seg.score` and `.sys.score`. Score files have a
system and a score on each line, segments in the order of the sources; `None` is a missing score.
"""

from collections.abc import Iterator
from pathlib import Path

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments, MetricScores
from prism_mt.evaluation.readers.collect import Collector
from prism_mt.evaluation.readers.fields import first_line, number, numbered_lines
from prism_mt.text.lines import open_lines


def read(path: Path, pair: str | None, score: str | None) -> list[Judgments]:
    """All language pairs that have human scores of the kind asked for, or of the only kind there is."""
    files = sorted((path / "human-scores").glob(f"{pair or '*'}.*.s??.score"))
    if not files:
        raise PrismError(f"{path} has no human-scores/LP.KIND.seg.score: not a directory of mt-metrics-eval?")
    kinds: dict[str, set[str]] = {}
    for file in files:
        lp, kind = file.name.split(".")[0], ".".join(file.name.split(".")[1:-2])
        kinds.setdefault(lp, set()).add(kind)
    return [_judgments(path, lp, _kind(path, lp, found, score)) for lp, found in kinds.items() if found]


def metric_of(file: Path) -> Path | None:
    """The BASE of `BASE.seg.score` or `BASE.sys.score` with two columns and no header, None for any other file."""
    base = file.name.removesuffix(".seg.score").removesuffix(".sys.score")
    if base == file.name:
        return None
    columns = first_line(file).lower().split("\t")
    return file.with_name(base) if len(columns) == 2 and "score" not in columns else None


def read_metrics(folder: Path, pair: str) -> list[MetricScores]:
    """All metrics of a folder of `.seg.score` and `.sys.score` files of one language pair."""
    names = sorted(
        {file.name.removesuffix(".seg.score").removesuffix(".sys.score") for file in score_files(folder)}
    )
    return [read_metric(folder / name, pair) for name in names]


def read_metric(base: Path, pair: str) -> MetricScores:
    """One metric from `BASE.seg.score`, `BASE.sys.score` or both."""
    collector = Collector("", pair)
    _add_scores(collector, base)
    return collector.metric(base.name)


def score_files(folder: Path) -> list[Path]:
    """The score files of a folder."""
    return sorted([*folder.glob("*.seg.score"), *folder.glob("*.sys.score")])


def _kind(path: Path, lp: str, kinds: set[str], asked: str | None) -> str:
    if asked in kinds:
        return asked
    if asked or len(kinds) > 1:
        known = ", ".join(sorted(kinds))
        raise PrismError(f"{path}, {lp}: name one of the human scores with --human-score: {known}")
    return next(iter(kinds))


def _judgments(path: Path, lp: str, kind: str) -> Judgments:
    collector = Collector(path.name, lp)
    source = path / "sources" / f"{lp}.txt"
    if source.exists():
        for segment, text in _texts(source):
            collector.source(segment, text)
    for file in sorted((path / "references").glob(f"{lp}.*.txt")):
        for segment, text in _texts(file):
            collector.reference(segment, file.name.split(".")[1], text)
    for file in sorted((path / "system-outputs" / lp).glob("*.txt")):
        for segment, text in _texts(file):
            collector.output(segment, file.name.removesuffix(".txt"), text)
    _add_scores(collector, path / "human-scores" / f"{lp}.{kind}")
    return collector.judgments()


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    return ((str(index), text) for index, text in enumerate(open_lines(path), start=1))


def _add_scores(collector: Collector, base: Path) -> None:
    for level in ("seg", "sys"):
        file = base.with_name(f"{base.name}.{level}.score")
        if not file.exists():
            continue
        counts: dict[str, int] = {}
        for where, line in numbered_lines(file):
            values = line.split()
            if len(values) != 2:
                raise PrismError(f"{where}: expected a system and a score")
            system, value = values[0], number(values[1], where)
            if level == "sys":
                collector.system_score(system, value)
            else:
                counts[system] = counts.get(system, 0) + 1
                collector.score(system, str(counts[system]), value)
