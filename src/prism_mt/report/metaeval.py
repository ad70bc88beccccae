"""Tables of how well metrics agree with people."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from prism_mt.evaluation.bias import Bin, Summary
from prism_mt.evaluation.disagreements import Disagreement, Disagreements
from prism_mt.evaluation.judge import Evaluation
from prism_mt.evaluation.protocols import Task
from prism_mt.evaluation.sweep import Sweep
from prism_mt.report.table import Column, Table, Value, number, titles

_TITLES = {"kendall-b": "tau-b", "kendall-c": "tau-c", "darr": "tau", "pearson": "Pearson", "spearman": "Spearman"}
_TESTS = {
    "williams": "Williams' test",
    "perm-both": "PERM-BOTH",
    "perm-segments": "a permutation test over segments",
    "perm-systems": "a permutation test over systems",
    "paired-bootstrap": "the paired bootstrap",
    "intervals": "95 % bootstrap intervals without overlap",
}


def evaluation_table(evaluation: Evaluation) -> Table:
    """One language pair: the task's statistic, its interval, p-value and rank, and other views beside it."""
    results = evaluation.results
    titles = [name for name in results[0].beside if not all(np.isnan(result.beside[name]) for result in results)]
    shows_interval = any(result.interval for result in results)
    shows_p = evaluation.task.test not in ("intervals", "none")
    columns = [Column("metric"), number(statistic_title(evaluation.task))]
    if shows_interval:
        columns += [number("low"), number("high")]
    if shows_p:
        columns.append(number("p"))
    columns += [number("rank", 0), *(number(title) for title in titles)]
    rows = []
    for result in results:
        row: list[Value] = [result.metric, result.value]
        if shows_interval:
            row += [result.interval.low, result.interval.high] if result.interval else [None, None]
        if shows_p:
            row.append(result.p)
        rows.append((*row, result.rank, *(result.beside[title] for title in titles)))
    bold = frozenset((index, 1) for index, result in enumerate(results) if evaluation.is_top(result))
    caption = f"{evaluation.place}: {evaluation.size}"
    return Table(tuple(columns), tuple(rows), caption, bold, (_note(evaluation), *evaluation.signatures.values()))


def overview_table(evaluations: Sequence[Evaluation]) -> Table:
    """All language pairs side by side with their mean, as papers print it; the mean needs a value of every pair."""
    names = list(dict.fromkeys(result.metric for evaluation in evaluations for result in evaluation.results))
    columns = (Column("metric"), *(number(title) for title in titles(evaluations)), number("mean"))
    found = [{result.metric: result for result in evaluation.results} for evaluation in evaluations]
    rows: list[tuple[Any, ...]] = []
    for name in names:
        values = [results[name].value if name in results else float("nan") for results in found]
        rows.append((name, *values, float(np.mean(values))))
    # Best mean first; metrics that lack a language pair keep their order below.
    rows.sort(key=lambda row: (np.isnan(row[-1]), -row[-1]))
    bold = frozenset(
        (index, place + 1)
        for place, evaluation in enumerate(evaluations)
        for index, row in enumerate(rows)
        if row[0] in found[place] and evaluation.is_top(found[place][row[0]])
    )
    task = evaluations[0].task
    caption = f"{statistic_title(task)}: all language pairs"
    return Table(columns, tuple(rows), caption, bold, (_note(evaluations[0]),))


def sweep_table(found: Sweep) -> Table:
    """Every combination; the one that is best on the development set is marked."""
    columns = (*(Column(name, ".2f", "right") for name in found.metrics), number("development"), number("test"))
    rows = tuple((*point.weights, point.dev, point.test) for point in found.points)
    best, width = found.points.index(found.best), len(found.metrics)
    return Table(columns, rows, "Linear combinations", frozenset({(best, width), (best, width + 1)}))


def disagreement_tables(found: Disagreements, metrics: Sequence[str], place: str) -> list[Table]:
    """Two tables: what people place higher than the first metric, and the reverse."""
    return [
        _disagreements(found.people_higher, metrics, f"{place}: people higher than {metrics[0]}"),
        _disagreements(found.metric_higher, metrics, f"{place}: {metrics[0]} higher than people"),
    ]


def bias_table(models: Mapping[str, Sequence[Summary]]) -> Table:
    """Mean score of every kind of paraphrase, and its BLEU, one column per model."""
    rows: dict[str, list[Value]] = {}
    for place, summaries in enumerate(models.values()):
        for summary in summaries:
            for title, value in (
                (f"H({summary.kind}|r0)", summary.score),
                (f"BLEU({summary.kind}, r0)", summary.bleu),
            ):
                rows.setdefault(title, [None] * len(models))[place] = value
    columns = (Column(""), *(number(model) for model in models))
    ordered = sorted(rows, key=lambda title: not title.startswith("H("))
    return Table(columns, tuple((title, *rows[title]) for title in ordered), "Paraphraser bias")


def bins_table(models: Mapping[str, Sequence[Bin]]) -> Table:
    """Mean score per range of sentence-BLEU against the reference, one pair of columns per model."""
    columns = [Column("sentence BLEU")]
    for model in models:
        columns += [number(model), number(f"n {model}", 0)]
    rows = []
    for bins in zip(*models.values(), strict=True):
        cells: list[Value] = [f"{bins[0].low:g}–{bins[0].high:g}"]
        for found in bins:
            cells += [found.score, found.count]
        rows.append(tuple(cells))
    return Table(tuple(columns), tuple(rows), "Mean score by likeness to the reference")


def statistic_title(task: Task) -> str:
    """What the main column is called."""
    name = _TITLES.get(task.statistic, task.statistic)
    return name if task.over == "none" else f"{name} in {task.over}"


def _note(evaluation: Evaluation) -> str:
    """What a mark means, with everything that it depends on."""
    test, resampling = evaluation.task.test, evaluation.resampling
    if test == "none":
        return "marked: all, as nothing was tested"
    note = f"marked: best, or not significantly worse than the best by {_TESTS[test]}"
    if test != "intervals":
        note += f", p < {resampling.alpha:g}"
    return note if test == "williams" else f"{note}, {resampling.draws} draws, seed {resampling.seed}"


def _disagreements(found: Sequence[Disagreement], metrics: Sequence[str], caption: str) -> Table:
    columns = [Column("segment"), Column("system"), Column("judgment", ".4g", "right"), number("people", 0)]
    columns += [*(number(name, 0) for name in metrics), Column("source"), Column("reference"), Column("output")]
    rows = tuple(
        (
            *(item.segment, item.system, item.human_score, item.human),
            *(item.metrics[name] for name in metrics),
            *(item.source, item.reference, item.output),
        )
        for item in found
    )
    return Table(
        tuple(columns), rows, caption, notes=("people and metrics: percentiles among all judged outputs",)
    )
