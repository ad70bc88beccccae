"""Directories in the layout of mt-metrics-eval: one test set with sources, references, outputs and scores.

`human-scores/LP.KIND.seg.score`, `human-scores/LP.KIND.sys.score`, `sources/LP.txt`, `references/LP.NAME.txt`,
`documents/LP.docs` (domain and document of every segment), `system-outputs/LP/SYSTEM.txt`,
`metric-scores/LP/METRIC-REFERENCE.seg.score` and `.sys.score`. Score files have a system and a score on each line,
segments in the order of the sources; `None` is a missing score, `[No translation supplied]` a missing text.
REFERENCE is a name or several joined by dots, `all`, or `src` for a metric that uses none: a variant of the metric,
not a part of its name.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments, is_human
from prism_mt.evaluation.readers.collect import Collector
from prism_mt.evaluation.readers.fields import Request, first_line, number, numbered_lines
from prism_mt.metrics.scores import MetricScores
from prism_mt.text.lines import open_lines

_WITHOUT_REFERENCE = "src"
_ALL_REFERENCES = "all"
_NO_TEXT = "[No translation supplied]"


@dataclass(frozen=True)
class Variant:
    """Scores of a metric with one choice of references; `path` lacks the file suffixes."""

    metric: str
    reference: str
    """Empty if the file name does not say it."""
    path: Path


def recognize(path: Path, header: str) -> bool:
    """Whether this is a directory."""
    return path.is_dir()


def read(path: Path, request: Request) -> list[Judgments]:
    """Read all language pairs that have human scores of the requested kind, or of the only kind."""
    files = sorted((path / "human-scores").glob("*.*.s??.score"))
    if not files:
        raise PrismError(f"{path} has no human-scores/LP.KIND.seg.score: not a directory of mt-metrics-eval?")
    kinds: dict[str, list[str]] = {}
    for file in files:
        lp, kind = file.name.split(".")[0], ".".join(file.name.split(".")[1:-2])
        if kind not in kinds.setdefault(lp, []):
            kinds[lp].append(kind)
    if request.pair is not None:
        kinds = {lp: found for lp, found in kinds.items() if lp == request.pair}
    if request.human_score is not None:
        kinds = {lp: found for lp, found in kinds.items() if request.human_score in found} or kinds
    return [_judgments(path, lp, _kind(path, lp, found, request)) for lp, found in kinds.items()]


def is_score_folder(path: Path) -> bool:
    """Whether a directory holds score files of one language pair."""
    return any(_score_files(path))


def variants(folder: Path, references: Sequence[str] = ()) -> list[Variant]:
    """All variants of the metrics in a directory of score files, by name."""
    names = sorted({_base_name(file) for file in _score_files(folder)})
    return [variant_of(folder / name, references) for name in names]


def variant_of(path: Path, references: Sequence[str] = ()) -> Variant:
    """Split the reference off a metric's name: one of `references` or what looks like one, `all`, or `src`."""
    metric, dash, last = path.name.rpartition("-")
    words = last.split(".")
    if dash and last == _ALL_REFERENCES and len(references) == 1:
        return Variant(metric, references[0], path)
    special = last in (_WITHOUT_REFERENCE, _ALL_REFERENCES)
    if dash and (special or all(word in references or is_human(word) for word in words)):
        return Variant(metric, last, path)
    return Variant(path.name, "", path)


def uses_references(folder: Path) -> bool:
    """Whether some metric in a directory of score files was computed with a reference."""
    return any(one.reference not in ("", _WITHOUT_REFERENCE) for one in variants(folder))


def choose_variants(found: Sequence[Variant], reference: str | None, place: str) -> list[tuple[str, Variant]]:
    """Choose one variant of every metric for the reference, each with the metric's name.

    Metrics without a reference are included, too; if a metric also has a variant with one, they are named METRIC-src.
    Metrics that only have variants with other references are left out.
    """
    references = sorted({one.reference for one in found} - {"", _WITHOUT_REFERENCE})
    if reference is None and len(references) > 1:
        raise PrismError(
            f"{place} has scores under several references ({', '.join(references)}): choose one with `reference=`"
        )
    wanted = reference if reference is not None else next(iter(references), "")
    if references and wanted not in references:
        raise PrismError(f"{place} has no scores under {wanted}, only under {', '.join(references)}")
    named = {one.metric for one in found if one.reference in (wanted, "")}
    chosen = []
    for one in found:
        if one.reference in (wanted, ""):
            chosen.append((one.metric, one))
        elif one.reference == _WITHOUT_REFERENCE:
            chosen.append((one.path.name if one.metric in named else one.metric, one))
    return chosen


def metric_of(file: Path) -> Path | None:
    """The BASE of `BASE.seg.score` or `BASE.sys.score` with two columns and no header; None for any other file."""
    base = _base_name(file)
    if base == file.name:
        return None
    columns = first_line(file).lower().split("\t")
    return file.with_name(base) if len(columns) == 2 and "score" not in columns else None


def read_variant(variant: Variant, pair: str, name: str | None = None) -> MetricScores:
    """Read the scores of a variant from `BASE.seg.score`, `BASE.sys.score` or both."""
    collector = Collector("", pair)
    _add_scores(collector, variant.path)
    reference = f"reference:{variant.reference}|" if variant.reference else ""
    return collector.metric(name or variant.metric, f"{variant.metric}|{reference}file:{variant.path.name}")


def _kind(path: Path, lp: str, kinds: Sequence[str], request: Request) -> str:
    asked = request.choose(kinds)
    if asked is not None and asked in kinds:
        return asked
    if asked or len(kinds) > 1:
        known = ", ".join(sorted(kinds))
        raise PrismError(f"{path}, {lp}: choose one of the human scores with `human_score=`: {known}")
    return kinds[0]


def _judgments(path: Path, lp: str, kind: str) -> Judgments:
    collector = Collector(path.name, lp)
    source = path / "sources" / f"{lp}.txt"
    if source.exists():
        for segment, text in _texts(source):
            collector.source(segment, text)
    documents = path / "documents" / f"{lp}.docs"
    if documents.exists():
        _add_documents(collector, documents)
    for file in sorted((path / "references").glob(f"{lp}.*.txt")):
        for segment, text in _texts(file):
            collector.reference(segment, file.name.removeprefix(f"{lp}.").removesuffix(".txt"), text)
    for file in sorted((path / "system-outputs" / lp).glob("*.txt")):
        for segment, text in _texts(file):
            collector.output(segment, file.name.removesuffix(".txt"), text)
    _add_scores(collector, path / "human-scores" / f"{lp}.{kind}")
    return collector.judgments()


def _texts(path: Path) -> Iterator[tuple[str, str | None]]:
    for index, text in enumerate(open_lines(path), start=1):
        yield str(index), None if text == _NO_TEXT else text


def _add_documents(collector: Collector, path: Path) -> None:
    for index, (where, line) in enumerate(numbered_lines(path), start=1):
        values = line.split()
        if len(values) != 2:
            raise PrismError(f"{where}: expected a domain and a document")
        collector.document(str(index), values[1], values[0])


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
                collector.rating(system, str(counts[system]), value)


def _score_files(folder: Path) -> Iterator[Path]:
    for level in ("seg", "sys"):
        yield from folder.glob(f"*.{level}.score")


def _base_name(file: Path) -> str:
    return file.name.removesuffix(".seg.score").removesuffix(".sys.score")
