"""Tables of how well metrics agree with humans."""

from collections.abc import Mapping, Sequence

import numpy as np

from prism_mt.evaluation.bias import Bin, Summary
from prism_mt.evaluation.disagreements import Disagreement, Disagreements
from prism_mt.evaluation.judge import Evaluation, SuiteScore, average
from prism_mt.evaluation.protocols import Protocol, Suite
from prism_mt.evaluation.sweep import Sweep
from prism_mt.report.table import Column, Table, Value, keyed, number, p_value, titles

_TITLES = {
    "kendall-b": "tau-b",
    "kendall-c": "tau-c",
    "darr": "tau",
    "pearson": "Pearson",
    "spearman": "Spearman",
    "pdp": "PDP",
}
BEST_MARK = "†"
_TIES_NOTE = (
    "all tied: accuracy of calling every pair a tie; a metric with no more than that distinguishes nothing"
)
_RANKS = "rank: a new one starts with a metric that is significantly worse than one of the rank above"
_NEEDS = {
    "tau-b pooled": "outputs with different judgments and different scores",
    "tau-b in segments": "a segment with different judgments and different scores",
    "accuracy in segments": "a segment with two outputs that were judged differently",
    "without outliers": "systems with different judgments and scores that are no outliers",
    "accuracy": "two systems that were judged differently",
    "mean of segments": "a preference of which a metric has scored both outputs",
}
"""What a statistic beside the protocol's needs; where no metric has it, the reader is told why."""
_TESTS = {
    "williams": "Williams' test",
    "perm-both": "PERM-BOTH",
    "perm-pairs": "a permutation test over pairs of outputs",
    "perm-segments": "a permutation test over segments",
    "perm-systems": "a permutation test over systems",
    "paired-bootstrap": "the paired bootstrap",
    "intervals": "95 % bootstrap intervals without overlap",
}


def evaluation_table(evaluation: Evaluation) -> Table:
    """One language pair: the task's statistic, its interval, p-value and rank, and other statistics beside it."""
    results = evaluation.results
    titles = list(results[0].others)
    shows_interval = any(result.interval for result in results)
    shows_p = evaluation.protocol.test not in ("intervals", "none")
    columns = [Column("metric"), number(statistic_title(evaluation.protocol))]
    if shows_interval:
        columns += [number("low"), number("high")]
    calibrated = any(result.calibration for result in results)
    if calibrated:
        columns += [number("epsilon"), number("all tied")]
    if shows_p:
        columns.append(
            p_value(draws=None if evaluation.protocol.test == "williams" else evaluation.resampling.draws)
        )
    columns += [number("rank", 0), *(number(title) for title in titles)]
    rows = []
    for result in results:
        row: list[Value] = [result.metric, result.value]
        if shows_interval:
            row += [result.interval.low, result.interval.high] if result.interval else [None, None]
        if calibrated:
            ties = result.calibration
            row += [ties.epsilon, ties.all_tied] if ties else [None, None]
        if shows_p:
            row.append(result.p)
        rows.append((*row, result.rank, *(result.others[title] for title in titles)))
    bold = frozenset((index, 1) for index, result in enumerate(results) if evaluation.is_top(result))
    reference = f", reference {evaluation.reference}" if evaluation.reference else ""
    part = f", {evaluation.part}" if evaluation.part else ""
    caption = f"{evaluation.place}{part}: {evaluation.size}{reference}"
    ranked = [_RANKS] if len({result.rank for result in results}) > 1 else []
    notes = (_note(evaluation), *ranked, *([_TIES_NOTE] if calibrated else []), *_undefined(evaluation))
    signatures = tuple(evaluation.signatures.values())
    return Table(keyed(columns), tuple(rows), caption, bold, notes, signatures, BEST_MARK)


def overview_table(evaluations: Sequence[Evaluation]) -> Table:
    """All language pairs side by side with their mean, as in papers; the mean needs a value for every pair."""
    columns = (Column("metric"), *(number(title) for title in titles(evaluations)), number("mean"))
    found = [{result.metric: result for result in evaluation.results} for evaluation in evaluations]
    rows: list[tuple[Value, ...]] = [(one.metric, *one.values, one.mean) for one in average(evaluations)]
    bold = frozenset(
        (index, place + 1)
        for place, evaluation in enumerate(evaluations)
        for index, row in enumerate(rows)
        if row[0] in found[place] and evaluation.is_top(found[place][row[0]])
    )
    caption = f"{statistic_title(evaluations[0].protocol)}: all language pairs"
    return Table(columns, tuple(rows), caption, bold, (_note(evaluations[0]),), mark=BEST_MARK)


def parts_table(evaluations: Sequence[Evaluation], what: str) -> Table:
    """The protocol's statistic on every domain or document, and the mean of these."""
    found = average(evaluations)
    columns = (Column(what), Column("size"), *(number(one.metric) for one in found))
    rows: list[tuple[Value, ...]] = [
        (evaluation.part, evaluation.size, *(one.values[place] for one in found))
        for place, evaluation in enumerate(evaluations)
    ]
    rows.append(("mean", None, *(one.mean for one in found)))
    first = evaluations[0]
    reference = f", reference {first.reference}" if first.reference else ""
    caption = f"{statistic_title(first.protocol)} by {what}: {first.place}{reference}"
    return Table(
        columns, tuple(rows), caption, notes=("parts are small: no test was made, and nothing is marked",)
    )


def suite_table(suite: Suite, tasks: Sequence[Sequence[Evaluation]], scores: Sequence[SuiteScore]) -> Table:
    """Every metric's result on every protocol of a suite, and their mean."""
    parts = [number(f"{one.name}: {statistic_title(one)}") for one in suite.protocols]
    columns = keyed((Column("metric"), number("average"), *parts))
    rows: list[tuple[Value, ...]] = [(one.metric, one.mean, *one.values) for one in scores]
    pairs = ", ".join(evaluation.pair for evaluation in tasks[0])
    notes = ("Pearson is mapped to 0–1, as the shared tasks do before they average; averages are not tested",)
    return Table(columns, tuple(rows), f"{suite.name}: {suite.description}; {pairs}", notes=notes)


def sweep_table(found: Sweep) -> Table:
    """Every combination; a note names the best one on the development set."""
    columns = (*(Column(name, ".2f", "right") for name in found.metrics), number("development"), number("test"))
    rows = tuple((*point.weights, point.dev, point.test) for point in found.points)
    weights = " + ".join(
        f"{weight:g}·{name}" for weight, name in zip(found.best.weights, found.metrics, strict=True) if weight
    )
    test = "" if np.isnan(found.best.test) else f", {found.best.test:.3f} on the test set"
    notes = (
        f"best on the development set: {weights}, {found.best.dev:.3f}{test}",
        "weights of standardized metrics" if found.standardized else "weights of the metrics as they are",
    )
    return Table(columns, rows, "Linear combinations", notes=notes)


def disagreement_tables(found: Disagreements, metrics: Sequence[str], place: str) -> list[Table]:
    """Two tables: what humans rank higher than the first metric, and vice versa."""
    return [
        _disagreements(found.people_higher, metrics, f"{place}: humans higher than {metrics[0]}"),
        _disagreements(found.metric_higher, metrics, f"{place}: {metrics[0]} higher than humans"),
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
    return Table(tuple(columns), tuple(rows), "Mean score by similarity to the reference")


def statistic_title(protocol: Protocol) -> str:
    """Title of the main column."""
    name = _TITLES.get(protocol.statistic, protocol.statistic)
    return name if protocol.over == "none" else f"{name} in {protocol.over}"


def _note(evaluation: Evaluation) -> str:
    """Explain the mark, with everything that it depends on."""
    test, resampling = evaluation.protocol.test, evaluation.resampling
    shown = test not in ("intervals", "paired-bootstrap") and any(one.interval for one in evaluation.results)
    if shown:
        tested = _test_note(evaluation)
        return (
            f"{tested}; low and high: 95 % bootstrap intervals, {resampling.draws} draws of {evaluation.resampled}, "
            f"seed {resampling.seed}"
        )
    return _test_note(evaluation)


def _undefined(evaluation: Evaluation) -> list[str]:
    """Say why a column is empty."""
    results = evaluation.results
    empty = [title for title in results[0].others if all(np.isnan(result.others[title]) for result in results)]
    return [f"{title}: undefined here, it needs {_NEEDS.get(title, 'more judgments')}" for title in empty]


def _test_note(evaluation: Evaluation) -> str:
    test, resampling = evaluation.protocol.test, evaluation.resampling
    if test == "none":
        return "nothing is marked: no test was made"
    note = f"{BEST_MARK} best, or not significantly worse than the best by {_TESTS[test]}"
    if test != "intervals":
        note += f", p < {resampling.alpha:g}"
    if test == "williams":
        return note
    drawn = f" of {evaluation.resampled}" if test in ("intervals", "paired-bootstrap") else ""
    return f"{note}, {resampling.draws} draws{drawn}, seed {resampling.seed}"


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
        tuple(columns), rows, caption, notes=("humans and metrics: percentiles among all judged outputs",)
    )
