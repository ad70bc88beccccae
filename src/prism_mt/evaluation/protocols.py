"""How metrics are judged, as data: level, statistic, ties, significance test; and the shared tasks' presets."""

from dataclasses import dataclass
from typing import Literal

from prism_mt._core.errors import PrismError
from prism_mt.stats.correlation import Averaging
from prism_mt.stats.darr import TieRule

Level = Literal["segments", "systems", "preferences"]
StatisticName = Literal[
    "pearson", "spearman", "kendall-b", "kendall-c", "accuracy", "acc-t23", "pdp", "soft-accuracy", "darr"
]
Test = Literal["williams", "perm-both", "perm-segments", "perm-systems", "paired-bootstrap", "intervals", "none"]
_CORRELATIONS = ("pearson", "spearman", "kendall-b", "kendall-c")

_FITTING: dict[Level, tuple[set[str], set[str]]] = {
    "segments": (
        {"pearson", "spearman", "kendall-b", "kendall-c", "accuracy", "acc-t23", "pdp"},
        {"williams", "perm-both", "perm-segments", "perm-systems", "paired-bootstrap", "intervals", "none"},
    ),
    "systems": (
        {"pearson", "spearman", "kendall-b", "kendall-c", "accuracy", "soft-accuracy"},
        {"williams", "perm-both", "perm-segments", "perm-systems", "paired-bootstrap", "intervals", "none"},
    ),
    "preferences": ({"darr"}, {"paired-bootstrap", "intervals", "none"}),
}


@dataclass(frozen=True)
class Task:
    """Everything that a table of results depends on besides the data.

    `human_score` is the column to take of a table that has it and others, too.
    `accuracy` is over pairs of outputs of one segment, or over pairs of systems; `pdp` is pairwise difference
    Pearson; `over` averages correlations of segments only. `references` names the standard reference by a word of
    the test set's name and language pair.
    """

    description: str
    level: Level
    statistic: StatisticName
    test: Test
    over: Averaging = "none"
    ties: TieRule = "discordant"
    human_score: str | None = None
    references: tuple[tuple[str, str, str], ...] = ()

    def __post_init__(self) -> None:
        statistics, tests = _FITTING[self.level]
        if self.statistic not in statistics:
            known = ", ".join(sorted(statistics))
            raise PrismError(f"{self.statistic} is not a statistic of {self.level}: choose one of {known}")
        if self.test not in tests:
            raise PrismError(f"{self.test} does not test {self.level}: choose one of {', '.join(sorted(tests))}")
        if self.test == "williams" and (self.statistic != "pearson" or self.over != "none"):
            raise PrismError("Williams' test compares Pearson correlations over all scores at once, nothing else")
        if self.over != "none" and (self.level != "segments" or self.statistic not in _CORRELATIONS):
            raise PrismError(
                f"only correlations of segments are averaged over {self.over}, not {self.statistic} of {self.level}"
            )

    def reference(self, testset: str, pair: str) -> str | None:
        """The name of the standard reference, None where the task does not say."""
        for word, languages, name in self.references:
            if word in testset and languages == pair:
                return name
        return None


_WMT21_REFERENCES = (("news", "en-de", "ref-C"), ("news", "zh-en", "ref-B"), ("ted", "zh-en", "ref-B"))

PRESETS: dict[str, Task] = {
    "wmt17-seg": Task("segment DA (z), Pearson, Williams", "segments", "pearson", "williams"),
    "wmt17-darr": Task("daRR, a tie counts below only", "preferences", "darr", "intervals", ties="neutral"),
    "wmt17-sys": Task("system DA, Pearson, Williams", "systems", "pearson", "williams"),
    "wmt18-darr": Task("daRR, a tie is discordant", "preferences", "darr", "intervals"),
    "wmt18-sys": Task("system DA, Pearson, Williams", "systems", "pearson", "williams"),
    "wmt19-darr": Task("daRR, a tie is discordant", "preferences", "darr", "intervals"),
    "wmt19-sys": Task("system DA, Pearson, Williams", "systems", "pearson", "williams"),
    "wmt20-darr": Task("daRR from raw DA", "preferences", "darr", "intervals", human_score="raw"),
    "wmt20-sys": Task("system DA (z), Pearson, Williams", "systems", "pearson", "williams"),
    "wmt21-mqm": Task(
        "segment MQM, tau-b over all outputs, PERM-BOTH",
        "segments",
        "kendall-b",
        "perm-both",
        references=_WMT21_REFERENCES,
    ),
    "wmt21-sys": Task(
        "system MQM, accuracy over pairs of systems, PERM-BOTH",
        "systems",
        "accuracy",
        "perm-both",
        references=_WMT21_REFERENCES,
    ),
    "wmt23-mqm": Task("segment MQM, acc-t23, PERM-BOTH", "segments", "acc-t23", "perm-both"),
    "wmt24-sys": Task("soft pairwise accuracy, PERM-BOTH", "systems", "soft-accuracy", "perm-both"),
}


def preset(name: str) -> Task:
    """A preset by its name."""
    if name not in PRESETS:
        raise PrismError(f"unknown preset {name!r}: choose one of {', '.join(PRESETS)}")
    return PRESETS[name]
