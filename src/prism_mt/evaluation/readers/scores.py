"""Readers of metric scores: our TSV, mt-metrics-eval, shared-task submissions, predictions in JSON."""

import json
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.readers import mtme, wmt_outputs
from prism_mt.evaluation.readers.collect import Collector
from prism_mt.evaluation.readers.fields import (
    LANGUAGE_PAIR,
    SEGMENT,
    file_title,
    first_line,
    number,
    numbered_lines,
    pair_of,
    records,
    stem,
)
from prism_mt.metrics.scores import MetricScores
from prism_mt.text.lines import open_lines


def read_all_scores(
    paths: Sequence[Path],
    pair: str | None = None,
    pairs: Collection[str] = (),
    reference: str | None = None,
) -> list[MetricScores]:
    """Read the metrics of several files or folders; of a metric's `.seg.score` and `.sys.score` either reads both."""
    once = {(not path.is_dir() and mtme.metric_of(path)) or path: path for path in paths}
    return [metric for path in once.values() for metric in read_scores(path, pair, pairs, reference)]


def read_scores(
    path: Path, pair: str | None = None, pairs: Collection[str] = (), reference: str | None = None
) -> list[MetricScores]:
    """Read the metrics of a file or folder.

    `pair` gives the language pair if the file does not state it; `reference` chooses among the variants of metrics in a
    mt-metrics-eval directory.
    """
    found = _read_folder(path, pair, pairs, reference) if path.is_dir() else _read_file(path, pair)
    found = [scores for scores in found if not pairs or scores.pair in pairs]
    if not found:
        raise PrismError(f"{path} has no metric scores" + (f" of {', '.join(pairs)}" if pairs else ""))
    return found


def _read_folder(
    path: Path, pair: str | None, pairs: Collection[str], reference: str | None
) -> list[MetricScores]:
    """Read an mt-metrics-eval directory, its `metric-scores`, or the directory of one language pair."""
    if mtme.is_score_folder(path):
        folders = [path]
    else:
        inner = path / "metric-scores" if (path / "metric-scores").is_dir() else path
        folders = [folder for folder in sorted(inner.iterdir()) if LANGUAGE_PAIR.fullmatch(folder.name)]
    found = []
    for folder in folders:
        languages = _pair_of_folder(folder, pair)
        if pairs and languages not in pairs:
            continue
        references = folder.parent.parent / "references"
        names = [file.name.split(".")[1] for file in references.glob(f"{languages}.*.txt")]
        chosen = mtme.choose_variants(mtme.variants(folder, names), reference, str(folder))
        found += [mtme.read_variant(variant, languages, name) for name, variant in chosen]
    return found


def _read_file(path: Path, pair: str | None) -> list[MetricScores]:
    if stem(path).endswith(".json"):
        return _read_json(path, pair_of(path, pair))
    header = first_line(path)
    if wmt_outputs.recognize(path, header):
        return wmt_outputs.read_submission(path)
    if "score" in header.lower().split("\t"):
        return _read_table(path, pair)
    if base := mtme.metric_of(path):
        return [mtme.read_variant(mtme.variant_of(base), _pair_of_folder(path.parent, pair, path))]
    return _read_submission(path)


def _read_table(path: Path, pair: str | None) -> list[MetricScores]:
    """Read a table with the columns metric (or the file's name), lp, system, segment (absent: systems), score."""
    collectors: dict[tuple[str, str], Collector] = {}
    for where, row in records(path):
        metric = row.get("metric") or file_title(path)
        languages = row.get("lp") or pair_of(path, pair)
        collector = collectors.setdefault((metric, languages), Collector("", languages))
        if "system" not in row:
            raise PrismError(f"{where}: no column system; the columns are {', '.join(row)}")
        segment = next((row[name] for name in SEGMENT if row.get(name)), None)
        value = number(row["score"], where)
        if segment is None:
            collector.system_score(row["system"], value)
        else:
            collector.rating(row["system"], segment, value)
    return [collector.metric(metric) for (metric, _), collector in collectors.items()]


def _read_submission(path: Path) -> list[MetricScores]:
    """Read a submission: METRIC LP TESTSET [REFERENCE] SYSTEM SCORE, or with a segment number before the score.

    The file name says whether it holds segment or system scores (`.seg.`, `-seglevel`, `.sys.`). Of a metric with
    several references, those named as the test set count, or those of most lines; others become separate metrics, with
    test set and reference in their names.
    """
    collectors: dict[tuple[str, str, tuple[str, ...]], Collector] = {}
    settings: dict[str, Counter[tuple[str, ...]]] = {}
    about_segments = "seg" in path.name
    for where, line in numbered_lines(path):
        values = line.split("\t") if "\t" in line else line.split()
        place = next((i for i, value in enumerate(values) if LANGUAGE_PAIR.fullmatch(value)), None)
        after = [] if place is None else values[place + 1 :]
        if place is None or len(after) < (4 if about_segments else 3):
            raise PrismError(f"{where}: expected METRIC LP TESTSET SYSTEM {'SID ' * about_segments}SCORE")
        metric, languages = values[0], values[place]
        setting = tuple(after[: -3 if about_segments else -2])
        settings.setdefault(metric, Counter())[setting] += 1
        collector = collectors.setdefault((metric, languages, setting), Collector("", languages))
        value = number(after[-1], where)
        if about_segments:
            collector.rating(after[-3], after[-2], value)
        else:
            collector.system_score(after[-2], value)
    main = {metric: _main_setting(counts) for metric, counts in settings.items()}
    return [
        collector.metric(metric if setting == main[metric] else " ".join((metric, *setting)))
        for (metric, _, setting), collector in collectors.items()
    ]


def _main_setting(counts: Counter[tuple[str, ...]]) -> tuple[str, ...]:
    """Choose among test sets with references: one and the same name for both first, then the most lines."""
    return max(counts, key=lambda setting: (len(set(setting)) == 1, counts[setting]))


def _read_json(path: Path, pair: str) -> list[MetricScores]:
    """Ours, or {"seg": {metric: {system: [scores]}}, "sys": {metric: {system: score}}}; item i is segment i + 1."""
    text = "\n".join(open_lines(path))
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PrismError(f"{path}: not a JSON object with metric scores ({error})") from error
    if isinstance(document, dict) and isinstance(document.get("results"), list):
        document = _ours(document["results"], path)
    segments, systems = (_by_system(document, key, path) for key in ("seg", "sys"))
    found = []
    for metric in dict.fromkeys([*segments, *systems]):
        collector = Collector("", pair)
        for system, values in segments.get(metric, {}).items():
            if not isinstance(values, list):
                raise PrismError(f"{path}, {metric}, {system}: expected a list of segment scores")
            for index, value in enumerate(values, start=1):
                collector.rating(system, str(index), number(value, f"{path}, {metric}, {system}"))
        for system, value in systems.get(metric, {}).items():
            collector.system_score(system, number(value, f"{path}, {metric}, {system}"))
        found.append(collector.metric(metric))
    return found


def _ours(results: list[Any], path: Path) -> dict[str, Any]:
    """Parse the output of `prism score --format json`, by metric and system."""
    found: dict[str, Any] = {"seg": {}, "sys": {}}
    for result in results:
        if not isinstance(result, dict) or not {"metric", "system", "score"} <= result.keys():
            raise PrismError(f"{path}: every result needs metric, system and score")
        metric, system = str(result["metric"]), str(result["system"])
        found["sys"].setdefault(metric, {})[system] = result["score"]
        if isinstance(result.get("segments"), list):
            scores = [one.get("score") if isinstance(one, dict) else one for one in result["segments"]]
            found["seg"].setdefault(metric, {})[system] = scores
    return found


def _by_system(document: Any, key: str, path: Path) -> dict[str, dict[str, Any]]:
    """The content under `seg` or `sys`: values of systems by metric."""
    found = document.get(key, {}) if isinstance(document, dict) else None
    if not isinstance(found, dict) or not all(isinstance(systems, dict) for systems in found.values()):
        raise PrismError(f"{path}: not a JSON object with metric scores by metric and system under {key!r}")
    return found


def _pair_of_folder(folder: Path, pair: str | None, file: Path | None = None) -> str:
    """Infer the pair from the directory: mt-metrics-eval keeps metric scores in one named after it."""
    return folder.name if LANGUAGE_PAIR.fullmatch(folder.name) else pair_of(file or folder, pair)
