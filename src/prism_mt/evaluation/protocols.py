"""Evaluation protocols as data: level, statistic, ties, significance test; and those of the shared tasks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from prism_mt._core.errors import PrismError
from prism_mt._core.options import suggestion
from prism_mt.stats.correlation import Averaging
from prism_mt.stats.darr import TieRule

Level = Literal["segments", "systems", "preferences"]
StatisticName = Literal[
    "pearson",
    "spearman",
    "kendall-b",
    "kendall-c",
    "accuracy",
    "acc-t23",
    "pdp",
    "soft-accuracy",
    "darr",
]
Test = Literal[
    "williams", "perm-both", "perm-pairs", "perm-segments", "perm-systems", "paired-bootstrap", "intervals", "none"
]

_CORRELATIONS = ("pearson", "spearman", "kendall-b", "kendall-c")
_TESTS = ("williams", "perm-both", "perm-segments", "perm-systems", "paired-bootstrap", "intervals", "none")
_FITTING: dict[Level, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "segments": ((*_CORRELATIONS, "accuracy", "acc-t23", "pdp"), (*_TESTS, "perm-pairs")),
    "systems": ((*_CORRELATIONS, "accuracy", "soft-accuracy"), _TESTS),
    "preferences": (("darr",), ("paired-bootstrap", "intervals", "none")),
}


@dataclass(frozen=True)
class Protocol:
    """Everything that a results table depends on besides the data.

    `accuracy` is over output pairs of one segment, or over system pairs; `over` averages correlations of segments only.
    """

    name: str
    description: str
    level: Level
    statistic: StatisticName
    test: Test
    over: Averaging = "none"
    ties: TieRule = "discordant"
    human_scores: tuple[str, ...] = ()
    """Preferred columns or kinds of human scores, best first, for data with several."""
    references: tuple[tuple[str, str, str], ...] = ()
    """Standard references: test set, language pair and name."""

    def __post_init__(self) -> None:
        statistics, tests = _FITTING[self.level]
        if self.statistic not in statistics:
            known = ", ".join(sorted(statistics))
            raise PrismError(f"{self.statistic} is not a statistic of {self.level}: choose one of {known}")
        if self.test not in tests:
            raise PrismError(f"{self.test} does not test {self.level}: choose one of {', '.join(sorted(tests))}")
        if self.test == "williams" and (self.statistic != "pearson" or self.over != "none"):
            raise PrismError("Williams' test compares Pearson correlations over all scores at once, nothing else")
        if self.test == "perm-pairs" and self.statistic != "acc-t23":
            raise PrismError("perm-pairs swaps what metrics say about pairs of outputs: it tests acc-t23 only")
        if self.over != "none" and (self.level != "segments" or self.statistic not in _CORRELATIONS):
            raise PrismError(
                f"only correlations of segments are averaged over {self.over}, not {self.statistic} of {self.level}"
            )

    def standard_reference(self, testset: str, pair: str) -> str | None:
        """The name of a test set's standard reference; None if the protocol does not know it."""
        return next((name for known, lp, name in self.references if (known, lp) == (testset, pair)), None)


def _references(testset: str, standard: str, pairs: str, **others: str) -> tuple[tuple[str, str, str], ...]:
    """The standard reference of every pair; `others` lists pairs by another reference."""
    named = {standard: pairs, **others}
    return tuple((testset, pair, name) for name, listed in named.items() for pair in listed.split())


# The standard references of mt-metrics-eval.
_WMT21 = (
    *_references("wmt21.news", "refA", "en-ru", refB="zh-en", refC="en-de"),
    *_references("wmt21.tedtalks", "refA", "en-de en-ru", refB="zh-en"),
)
_WMT22 = _references(
    *("wmt22", "refA"),
    "cs-uk de-en de-fr en-de en-hr en-ja en-liv en-ru en-uk en-zh fr-de ja-en liv-en ru-en ru-sah sah-ru uk-cs uk-en "
    "zh-en",
    refB="cs-en en-cs",
)
_WMT23 = _references(
    *("wmt23", "refA"),
    "cs-uk de-en en-cs en-de en-ja en-ru en-uk en-zh ja-en ru-en uk-en zh-en",
    refB="en-he he-en",
)
_WMT24 = _references(
    *("wmt24", "refA"), "cs-uk en-cs en-es en-hi en-is en-ja en-ru en-uk en-zh ja-zh", refB="en-de"
)
_WMT25 = _references(
    *("wmt25", "refA"),
    "cs-de_DE cs-uk_UA en-ar_EG en-bho_IN en-cs_CZ en-et_EE en-is_IS en-ja_JP en-ko_KR en-ru_RU en-sr_Cyrl_RS en-uk_UA "
    "en-zh_CN ja-zh_CN",
)
_DA = ("da-sqm", "wmt-appraise", "wmt")

_ALL = (
    Protocol("wmt17-seg", "segment DA (z), Pearson, Williams' test", "segments", "pearson", "williams"),
    Protocol(
        "wmt17-darr",
        "daRR tau, a metric's tie counts only in the denominator; intervals without overlap",
        "preferences",
        "darr",
        "intervals",
        ties="neutral",
    ),
    Protocol("wmt17-sys", "system DA, Pearson, Williams' test", "systems", "pearson", "williams"),
    Protocol("wmt18-darr", "daRR tau, a metric's tie is discordant", "preferences", "darr", "intervals"),
    Protocol("wmt18-sys", "system DA, Pearson, Williams' test", "systems", "pearson", "williams"),
    Protocol("wmt19-darr", "daRR tau, a metric's tie is discordant", "preferences", "darr", "intervals"),
    Protocol("wmt19-sys", "system DA, Pearson, Williams' test", "systems", "pearson", "williams"),
    Protocol(
        "wmt20-darr",
        "daRR tau from raw DA that differ by 25 or more",
        "preferences",
        "darr",
        "intervals",
        human_scores=("raw", "wmt-raw"),
    ),
    Protocol(
        "wmt20-sys",
        "system DA (z), Pearson, Williams' test",
        "systems",
        "pearson",
        "williams",
        human_scores=("z", "wmt-z"),
    ),
    Protocol(
        "wmt21-mqm",
        "segment MQM, tau-b over all outputs, PERM-BOTH",
        "segments",
        "kendall-b",
        "perm-both",
        human_scores=("mqm",),
        references=_WMT21,
    ),
    Protocol(
        "wmt21-sys",
        "system MQM, accuracy over pairs of systems (of all language pairs together), PERM-BOTH",
        "systems",
        "accuracy",
        "perm-both",
        human_scores=("mqm",),
        references=_WMT21,
    ),
    Protocol(
        "wmt22-mqm",
        "segment MQM, tau-b over all outputs, PERM-BOTH",
        "segments",
        "kendall-b",
        "perm-both",
        human_scores=("mqm", *_DA),
        references=_WMT22,
    ),
    Protocol(
        "wmt22-sys",
        "system MQM, accuracy over pairs of systems (of all language pairs together), PERM-BOTH",
        "systems",
        "accuracy",
        "perm-both",
        human_scores=("mqm", *_DA),
        references=_WMT22,
    ),
    Protocol(
        "wmt23-mqm",
        "segment MQM, acc-t23: mean over segments of the share of pairs ordered or tied as by people, after tie "
        "calibration; permutation test over pairs",
        "segments",
        "acc-t23",
        "perm-pairs",
        human_scores=("mqm", *_DA),
        references=_WMT23,
    ),
    Protocol(
        "wmt23-sys",
        "system MQM, accuracy over pairs of systems (of all language pairs together), PERM-BOTH",
        "systems",
        "accuracy",
        "perm-both",
        human_scores=("mqm", *_DA),
        references=_WMT23,
    ),
    Protocol(
        "wmt23-sys-pearson",
        "system MQM, Pearson over systems, PERM-BOTH",
        "systems",
        "pearson",
        "perm-both",
        human_scores=("mqm", *_DA),
        references=_WMT23,
    ),
    Protocol(
        "wmt23-seg-pearson",
        "segment MQM, Pearson over all outputs, PERM-BOTH",
        "segments",
        "pearson",
        "perm-both",
        human_scores=("mqm", *_DA),
        references=_WMT23,
    ),
    Protocol(
        "wmt24-mqm",
        "segment MQM, acc-t23 within segments after tie calibration; permutation test over pairs",
        "segments",
        "acc-t23",
        "perm-pairs",
        human_scores=("mqm", "esa"),
        references=_WMT24,
    ),
    Protocol(
        "wmt24-esa",
        "segment ESA, acc-t23 within segments after tie calibration; permutation test over pairs",
        "segments",
        "acc-t23",
        "perm-pairs",
        human_scores=("esa", "esa_score"),
        references=_WMT24,
    ),
    Protocol(
        "wmt24-sys",
        "soft pairwise accuracy: agreement of people's and the metric's confidence that one system is better; "
        "PERM-BOTH",
        "systems",
        "soft-accuracy",
        "perm-both",
        human_scores=("mqm", "esa", "esa_score"),
        references=_WMT24,
    ),
    Protocol(
        "wmt25-mqm",
        "segment MQM, acc-t23 within segments after tie calibration; permutation test over pairs",
        "segments",
        "acc-t23",
        "perm-pairs",
        human_scores=("mqm", "esa"),
        references=_WMT25,
    ),
    Protocol(
        "wmt25-esa",
        "segment ESA, acc-t23 within segments after tie calibration; permutation test over pairs",
        "segments",
        "acc-t23",
        "perm-pairs",
        human_scores=("esa", "overall", "esa_score"),
        references=_WMT25,
    ),
    Protocol(
        "wmt25-sys",
        "soft pairwise accuracy of systems by MQM or ESA; PERM-BOTH",
        "systems",
        "soft-accuracy",
        "perm-both",
        human_scores=("mqm", "esa", "overall", "esa_score"),
        references=_WMT25,
    ),
    Protocol(
        "pdp",
        "pairwise difference Pearson: correlation of differences between outputs of one segment, all segments "
        "together (DiIanni and Deutsch 2025); PERM-BOTH",
        "segments",
        "pdp",
        "perm-both",
        human_scores=("mqm", "esa", "esa_score"),
    ),
)
PROTOCOLS: Mapping[str, Protocol] = {protocol.name: protocol for protocol in _ALL}


@dataclass(frozen=True)
class Suite:
    """Several protocols whose mean ranks metrics, as in the shared tasks' main table."""

    name: str
    description: str
    protocols: tuple[Protocol, ...]


def _suite(name: str, description: str, *protocols: str) -> Suite:
    return Suite(name, description, tuple(PROTOCOLS[one] for one in protocols))


_SUITES = (
    _suite(
        "wmt23",
        "the average of WMT23: accuracy over systems of all pairs, Pearson of systems and of segments (mapped to 0–1), "
        "acc-t23",
        "wmt23-sys",
        "wmt23-sys-pearson",
        "wmt23-seg-pearson",
        "wmt23-mqm",
    ),
    _suite("wmt24", "the average of WMT24: soft pairwise accuracy and acc-t23", "wmt24-sys", "wmt24-mqm"),
    _suite("wmt25", "the average of WMT24 on data of WMT25, judged by ESA or MQM", "wmt25-sys", "wmt25-mqm"),
)
SUITES: Mapping[str, Suite] = {suite.name: suite for suite in _SUITES}


def get_protocol(name: str | Protocol) -> Protocol:
    """Look up a protocol by name; a protocol is returned unchanged."""
    if isinstance(name, Protocol):
        return name
    if name not in PROTOCOLS:
        raise PrismError(f"unknown protocol {name!r}{suggestion(name, PROTOCOLS)}")
    return PROTOCOLS[name]


def get_protocols(name: str) -> tuple[Protocol, ...]:
    """The protocols of a suite, or the one of that name."""
    if name in SUITES:
        return SUITES[name].protocols
    if name not in PROTOCOLS:
        raise PrismError(f"unknown protocol {name!r}{suggestion(name, [*PROTOCOLS, *SUITES])}")
    return (PROTOCOLS[name],)
