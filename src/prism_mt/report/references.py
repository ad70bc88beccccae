"""Tables of metrics with standard and machine-translated references."""

from collections.abc import Sequence

import numpy as np

from prism_mt.evaluation.machine_references import ReferenceStudy
from prism_mt.report.table import Column, Table, Value, number, titles

_STATISTIC = {
    "segments": "tau-b over all outputs, each scored in one of its system's pairs",
    "systems": "accuracy over pairs of systems",
}


def study_table(study: ReferenceStudy) -> Table:
    """One language pair: both results, the deviation over draws, and the relative change."""
    columns = (
        Column("metric"),
        *(number(title, 1) for title in ("standard", "machine-translated", "spread")),
        Column("change", "+.1%", "right"),
    )
    rows = tuple(
        (effect.metric, 100 * effect.standard, 100 * effect.machine, 100 * effect.spread, effect.change)
        for effect in study.effects
    )
    caption = (
        f"{study.place}: {study.segments:.1f} of {study.judged} segments have a machine-translated reference, "
        "on average over pairs of systems"
    )
    return Table(columns, rows, caption, notes=(_note(study), *_families(study)))


def studies_table(studies: Sequence[ReferenceStudy]) -> Table:
    """All language pairs side by side with their mean, as in the paper."""
    columns = [Column("metric")]
    for title in (*titles(studies), "mean"):
        columns += [number(f"{title} standard", 1), number(f"{title} machine", 1)]
    found = [{effect.metric: effect for effect in study.effects} for study in studies]
    rows: list[tuple[Value, ...]] = []
    for name in dict.fromkeys(name for effects in found for name in effects):
        values = [
            (100 * effects[name].standard, 100 * effects[name].machine) if name in effects else (np.nan, np.nan)
            for effects in found
        ]
        means = np.mean(values, axis=0).tolist()
        rows.append((name, *(value for both in values for value in both), *means))
    return Table(tuple(columns), tuple(rows), "All language pairs", notes=(_note(studies[0]),))


def _note(study: ReferenceStudy) -> str:
    options = study.options
    draw = "random references" if options.draw == "random" else "references by MD5"
    if options.draw == "random" or options.level == "segments":
        draw += f", {options.draws} draws, seed {options.seed}"
    standard = f"; standard reference {study.reference}" if study.reference else ""
    return f"×100: {_STATISTIC[options.level]}; {draw}; error-free by {options.error_free}{standard}"


def _families(study: ReferenceStudy) -> list[str]:
    """Systems that never serve as references for each other."""
    return [f"family {name}: {', '.join(systems)}" for name, systems in study.families.items()]
