"""Configurations scaled down by one number, and the configuration of Thompson & Post's appendix B."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from made_corpus import CONFIG, run

from prism_mt._core.errors import PrismError
from prism_mt._core.options import load_toml
from prism_mt.cli.configs import FOLDER
from prism_mt.corpus.config import CorpusConfig
from prism_mt.corpus.pipeline import prepare_corpus
from prism_mt.corpus.scaling import scaled


def appendix_b() -> CorpusConfig:
    return load_toml(FOLDER / "prism39-corpus.toml", CorpusConfig)


def test_the_numbers_of_appendix_b() -> None:
    config = appendix_b()
    assert len(config.languages) == 39
    steps = [table for table in config.step if table["kind"] == "cap"]
    assert [(one.get("pairs") or one["groups"], one["pair"], one.get("by")) for one in steps] == [
        (["europarl"], 100_000, None),
        (["en-kk"], 1_000_000, "margin"),
        (["kk-ru"], 200_000, "margin"),
    ]
    by_kind = {table["kind"]: table for table in config.step}
    margin, copies, minimum = by_kind["margin"], by_kind["copies"], by_kind["minimum"]
    assert (margin["threshold"], margin["thresholds"]) == (1.04, {"mined": 1.05})
    assert (copies["pieces"], copies["max_3grams"], copies["max_4grams"]) == (200_000, 0.6, 0.4)
    assert (by_kind["language"]["words"], by_kind["language"]["share"]) == (5, 0.5)
    assert minimum["language"] == 1_000_000
    assert (config.vocabulary.size, config.shards.max_pieces) == (64_000, 200)
    kinds = [table["kind"] for table in config.step]
    assert kinds.index("margin") < kinds.index("cap", kinds.index("margin"))  # Kazakh is capped by margins


def test_the_united_nations_corpus_is_capped_where_it_is_there(tmp_path: Path) -> None:
    # A group without a source is refused, so that both are in comments.
    text = (FOLDER / "prism39-corpus.toml").read_text("utf-8")
    path = tmp_path / "with-un.toml"
    path.write_text(re.sub(r"^# (?=\[\[|(path|group|kind|groups|pair) = )", "", text, flags=re.MULTILINE), "utf-8")
    config = load_toml(path, CorpusConfig)
    assert [one["pair"] for one in config.step if one.get("groups") == ["un"]] == [1_000_000]
    assert len(config.source) == len(appendix_b().source) + 1


def test_one_number_scales_all_counts() -> None:
    small = scaled(replace(appendix_b(), scale=0.01))
    by_kind = {table["kind"]: table for table in small.step}
    assert [table["pair"] for table in small.step if table["kind"] == "cap"] == [1_000, 10_000, 2_000]
    assert by_kind["minimum"]["language"] == 10_000
    assert (by_kind["copies"]["pieces"], by_kind["copies"]["sentences"]) == (20_000, 20_000)
    assert (small.vocabulary.size, small.vocabulary.sentences) == (6_400, 100_000)
    assert by_kind["margin"] == next(table for table in appendix_b().step if table["kind"] == "margin")
    assert scaled(small) is small
    assert "pair" not in by_kind["minimum"] or by_kind["minimum"]["pair"] == 0  # none stays none


def test_a_scaled_preparation(corpus: Path) -> None:
    folder = prepare_corpus(corpus / "config.toml", output=corpus / "small", workers=1, scale=0.8).folder
    assert folder == corpus / "small"
    report = (folder / "report.tsv").read_text("utf-8")
    rows = [line.split("\t") for line in report.splitlines()]
    assert sum(int(row[5]) for row in rows if row[0] == "sample") == 720
    with pytest.raises(PrismError, match="scale"):
        prepare_corpus(corpus / "config.toml", output=corpus / "none", scale=2.0)


def test_a_share_of_the_lines(corpus: Path) -> None:
    text = CONFIG.replace(
        '[[step]]\nkind = "normalize"', '[[step]]\nkind = "share"\nshare = 0.5\n\n[[step]]\nkind = "normalize"', 1
    )
    (corpus / "config.toml").write_text(text, "utf-8")
    totals = {step: numbers for step, *numbers in run(corpus, corpus / "out").totals()}
    before, kept, _ = totals["share"]
    assert before == 839
    assert 350 < kept < 490
