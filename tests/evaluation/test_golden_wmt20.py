"""WMT20: published taus from the agreement bits, daRR built from raw DA, published Pearson correlations."""

import lzma
import re
from pathlib import Path

import pytest
from metaeval_data import Read

from prism_mt.evaluation.judgments import Judgments, Preferences
from prism_mt.evaluation.readers import read_all_judgments
from prism_mt.evaluation.readers.scores import read_scores
from prism_mt.stats.correlation import pearson
from prism_mt.stats.darr import darr_tau, find_preferences


@pytest.fixture(scope="module")
def tables(data: Path) -> str:
    with lzma.open(data / "wmt20_results_tables_tex.txt.xz", "rt", encoding="utf-8") as text:
        return text.read()


def published_taus(tables: str) -> dict[tuple[str, str], float]:
    """(language pair, metric) to tau over all systems, as printed."""
    found: dict[tuple[str, str], float] = {}
    pairs: list[str] = []
    for line in tables.split("tbl-combined-newstest2020-nohy-seg.tex")[1].splitlines():
        if "{\\bf " in line:
            pairs = re.findall(r"\{\\bf (..-..)\}", line)
        elif line.startswith("\\metric"):
            name, *cells = line.removesuffix("\\\\").split("&")
            metric = name.strip()[len("\\metric{") : -1].replace("\\_", "_")
            for pair, cell in zip(pairs, cells, strict=True):
                if "$" not in cell:
                    found[pair, metric] = float(cell.split("/")[0])
    return found


def test_taus_from_agreement_bits_equal_the_published_tables(read: Read, tables: str) -> None:
    printed = published_taus(tables)
    checked = set()
    for pair, judgments in read("wmt20_darr_agree.tsv.xz").items():
        assert judgments.preferences is not None
        for metric, values in judgments.preferences.agreements.items():
            # The tables were rounded twice, to four significant digits and then to three decimals:
            # .43946 became .440, but .058473 became .058.
            tau = float(f"{darr_tau(values):.4g}")
            assert f"{tau:.3f}" == f"{printed[pair, metric]:.3f}", (pair, metric)
            checked.add((pair, metric))
    assert len({pair for pair, _ in checked}) == 17
    assert len(checked) == 460


def named(judgments: Judgments, preferences: Preferences) -> set[tuple[str, str, str]]:
    return {
        (judgments.segments[segment], judgments.systems[better], judgments.systems[worse])
        for segment, better, worse in zip(preferences.segment, preferences.better, preferences.worse, strict=True)
    }


def test_darr_from_raw_da_gives_the_official_pairs(read: Read, data: Path) -> None:
    official = read("wmt20_darr_agree.tsv.xz")
    raw = read_all_judgments([data / "wmt20_da_seg.tsv.xz"], human_score="raw")
    compared = 0
    for judgments in raw:
        machines = judgments.without_humans()
        expected = official[judgments.pair]
        assert expected.preferences is not None
        built = Preferences(*find_preferences(machines.scores))
        assert named(machines, built) == named(expected, expected.preferences), judgments.pair
        compared += 1
    assert compared == 18


# The header of the published table is in another order than its columns.
COLUMNS = ("cs-en", "de-en", "ja-en", "pl-en", "ru-en", "ta-en", "zh-en", "iu-en", "km-en", "ps-en")


def test_system_pearson_equals_the_published_table(read: Read, data: Path, tables: str) -> None:
    scores = {(m.metric, m.pair): m for m in read_scores(data / "wmt20_metric_sys_scores.tsv.xz", pairs=COLUMNS)}
    block = tables.split("tbl-DA-Pearson-MTall-exclhuman-toen.tex")[1].split("\\bottomrule")[0]
    right, wrong = 0, []
    for line in block.splitlines():
        found = re.match(r"\\metric\{(.*?)\}\s*&(.*)\\\\", line)
        if not found:
            continue
        metric = found[1].replace("\\_", "_")
        for pair, cell in zip(COLUMNS, found[2].split("&"), strict=True):
            number = re.search(r"-?\d\.\d{3}", cell)
            if number and (metric, pair) in scores:
                judgments = read("wmt20_da_sys.tsv.xz")[pair].without_humans()
                value = pearson(judgments.system_means(), scores[metric, pair].align_systems(judgments.systems))
                if f"{value:.3f}" == number[0]:
                    right += 1
                else:
                    wrong.append((metric, pair))
    assert not wrong
    assert right == 300
