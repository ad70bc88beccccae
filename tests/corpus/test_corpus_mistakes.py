"""Configurations and disks that do not work: one sentence each, before the work where that is possible."""

import errno
import os
from pathlib import Path

import pytest
from made_corpus import CONFIG, command, run, same_files


def failure(corpus: Path, capsys: pytest.CaptureFixture[str], config: str) -> str:
    (corpus / "config.toml").write_text(config, "utf-8")
    assert command(corpus, "out") == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    return message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"de", "en", "fr"', '"de", "en", "qqx"', "unknown language 'qqx'"),
        ('"de", "en", "fr"', '"deu", "en", "fr"', "write the language deu as de"),
        ("seed = 7", "seeds = 7", "unknown key seeds"),
        ("total = 900", "totals = 900", "step 7 (sample): unknown key totals"),
        ('kind = "length"', 'kind = "lenght"', "unknown kind of step 'lenght'"),
        ('heldout = ["test.tsv"]', 'heldout = ["multi.jsonl"]', "both a source and held out"),
        ('heldout = ["test.tsv"]', 'heldout = ["none.tsv"]', "no file matches"),
        ('path = "multi.jsonl"', 'path = "multi.jsonl"\npairs = ["en-nl"]', "name nl, which is not a language"),
        ("max_repeat = 2.0", "max_repeat = 2.0\nlanguages = { zh = 2 }", "the language zh of a step"),
        ("max_repeat = 2.0", "max_repeat = 0.0", "must be above 0"),
        ("max_repeat = 2.0", "shares = { film = 1 }", "the group film of a step"),
        ('kind = "normalize"', 'kind = "margin"\nthresholds = { film = 1.1 }', "the group film of a step"),
        ('kind = "normalize"', 'kind = "margin"\nencoder = "laser"', "no sentence encoder 'laser'"),
        (
            'kind = "normalize"',
            'kind = "near-duplicates"\nbands = 0',
            "bands and band_size of the near-duplicates",
        ),
        ('kind = "normalize"', 'kind = "margin"\nneighbors = 0', "neighbors and max_rows of the margin step"),
        ('kind = "normalize"', 'kind = "copies"\nsentences = 0', "pieces and sentences of the copies step"),
        ("size = 380", "size = 380\ntemperature = 0.0", "vocabulary.temperature must be above 0"),
        ("size = 380", 'size = 380\nmodel = "."', "vocabulary.model must be a SentencePiece model"),
        ("valid_share = 0.02", "valid_share = 2.0", "shards.valid_share must be"),
        ("max_pieces = 60", "max_pieces = 0", "shards.max_pieces and tokens must be"),
        ("size = 380", "size = 38000", "could not be trained with 38000 pieces"),
        (
            'languages = ["de", "en", "fr"]',
            'languages = ["nl", "it"]',
            "no rows are left after step deduplicate",
        ),
    ],
)
def test_mistakes_end_in_one_sentence(
    corpus: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, message: str
) -> None:
    assert message in failure(corpus, capsys, CONFIG.replace(old, new))


def test_training_rows_that_are_held_out_are_an_error(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = CONFIG.replace('[[step]]\nkind = "decontaminate"\n', "")
    message = failure(corpus, capsys, config)
    assert "rows contain a sentence of the held-out files (test.tsv)" in message
    assert not (corpus / "out" / "meta.json").exists()


def test_a_full_disk_is_one_sentence(
    corpus: Path, whole: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    def fsync(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls > 10:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        assert "No space left on device" in failure(corpus, capsys, CONFIG)
    # With room again the run goes on.
    run(corpus, corpus / "out")
    assert same_files(whole, corpus / "out")
