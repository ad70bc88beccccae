"""Diverse paraphrases for BLEU (Bawden et al. 2020, Findings): correlations of the published system scores."""

from pathlib import Path

import numpy as np

from prism_mt.evaluation.readers.fields import numbered_lines
from prism_mt.evaluation.studies.base import Cells
from prism_mt.evaluation.studies.published import PublishedTable
from prism_mt.evaluation.studies.registry import runs
from prism_mt.evaluation.studies.wmt19 import JUDGED, correlation
from prism_mt.evaluation.studies.workspace import Workspace

SCORES = "wmt18-19_parbleu_published_sys_scores.tsv.xz"
SystemScores = dict[str, dict[str, dict[str, float]]]
"""By file and language pair, the score of every system."""
_SUBSET, _SUBSET_FAMILY = ".500", "parbleu"
_FILES = {
    "baseline": "{plain}-syslevel",
    "beam +5": "beam/{family}-beam.num=5-syslevel",
    "random +5": "random/{family}-random.num=5-syslevel",
    "sampled +5": "sampled/{family}-sampled.num=5-syslevel",
    "laser +1": "laser/{family}-laser.num=1-syslevel",
    "treelstm +1": "treelstm/{family}-treelstm.num=1-syslevel",
    "laser +5": "laser/{family}-laser.num=5-syslevel",
    "treelstm +5": "treelstm/{family}-treelstm.num=5-syslevel",
    "output-specific laser +1": "mt-output-specific/{family}-constrained-laser.syslevel",
    "output-specific treelstm +1": "mt-output-specific/{family}-constrained-treelstm.syslevel",
    "human": "human/{family}-human-syslevel",
}
_PLAIN = {"parbleu": "sacreBLEU", "parmeteor": "Meteor"}
"""Names of the scores without paraphrases, by family of metrics."""
_RELATIVE = frozenset(["parbleu"])
"""Families whose gains are printed in percent."""
_PAIRS = ("de-en", "fi-en", "gu-en", "kk-en", "lt-en", "ru-en", "zh-en")


@runs("bawden2020/parbleu-systems", "bawden2020/parmeteor-systems", files=(JUDGED, SCORES))
def systems(work: Workspace, table: PublishedTable) -> Cells:
    """Pearson by language pair, and the mean."""
    found = {}
    for row in table.rows:
        values = _correlations(work, row, _family(table))
        found.update({(row, pair): value for pair, value in values.items()})
        if len(values) == len(_PAIRS):
            found[row, "mean"] = float(np.mean(list(values.values())))
    return found


@runs("bawden2020/subset", files=(JUDGED, SCORES))
def subset(work: Workspace, table: PublishedTable) -> Cells:
    """Pearson on 500 segments of de-en."""
    found = {}
    for row in table.rows:
        for value in _correlations(work, row, _SUBSET_FAMILY, _SUBSET).values():
            found[row, "systems"] = value
    return found


@runs("bawden2020/parbleu-gains", "bawden2020/parmeteor-gains", files=(JUDGED, SCORES))
def gains(work: Workspace, table: PublishedTable) -> Cells:
    """Gains over the plain metric, of parBLEU relative to it in percent."""
    family = _family(table)
    before = _correlations(work, "baseline", family)
    found = {}
    for row in table.rows:
        after = _correlations(work, row, family)
        if len(after) == len(_PAIRS):
            gained = np.array([after[pair] - before[pair] for pair in _PAIRS])
            if family in _RELATIVE:
                gained *= 100 / np.array([before[pair] for pair in _PAIRS])
            found[row, "systems mean"] = float(gained.mean())
            found[row, "systems min"], found[row, "systems max"] = float(gained.min()), float(gained.max())
    return found


def _family(table: PublishedTable) -> str:
    return table.id.partition("/")[2].partition("-")[0]


def _correlations(work: Workspace, row: str, family: str, subset: str = "") -> dict[str, float]:
    """Pearson of a row of the tables by language pair; empty where its scores were not published."""
    name = _FILES.get(row, "").format(family=family, plain=_PLAIN[family])
    scores = read_system_scores(work).get(f"newstest2019/{name}{subset}", {})
    return {pair: correlation(work.judgments(JUDGED, pair), values) for pair, values in scores.items()}


def read_system_scores(work: Workspace) -> SystemScores:
    """Read the published system scores, from one table or from a checkout of the authors' repository."""

    def read() -> SystemScores:
        path = work.data.find(SCORES)
        found: SystemScores = {}
        for name, line in _lines(path):
            values = line.split("\t")
            # Some files have an empty column before the score.
            if len(values) >= 5 and values[-1]:
                found.setdefault(name, {}).setdefault(values[1], {})[values[3]] = float(values[-1])
        return found

    return work.keep("published system scores", read)


def _lines(path: Path) -> list[tuple[str, str]]:
    """Name of the file, and lines of metric, language pair, test set, system and score."""
    if path.is_dir():
        return [
            (file.relative_to(path).as_posix().removesuffix(".tsv"), line)
            for file in sorted(path.rglob("*sys*level*.tsv"))
            for _, line in numbered_lines(file)
        ]
    found = []
    for _, line in numbered_lines(path):
        name, _, rest = line.partition("\t")
        found.append((name, rest))
    return found
