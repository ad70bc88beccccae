"""Texts of more pieces than an encoder takes: refused, truncated, or read in windows."""

import logging
from pathlib import Path

import numpy as np
import pytest
from made import SENTENCES, make_model

from prism_mt._core.errors import PrismError
from prism_mt.encoders.base import NetworkEncoder
from prism_mt.encoders.cached import StoredEncoder
from prism_mt.encoders.factory import EncoderConfig, open_piece_encoder
from prism_mt.encoders.tokens import Tokens
from prism_mt.models.directory import ModelDirectory, write_model
from prism_mt.text.subwords import OverlongPolicy

LONG = " ".join(SENTENCES[:6])
LIMIT = 64


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model(make_model(max_positions=LIMIT), tmp_path / "model").folder


def opened(folder: Path, overlong: OverlongPolicy) -> NetworkEncoder:
    directory = ModelDirectory(folder)
    return open_piece_encoder("model", "en", lambda: directory, config=EncoderConfig(overlong=overlong))


@pytest.mark.parametrize(
    ("pieces", "starts"),
    [(4, [0]), (5, [0, 1]), (6, [0, 2]), (7, [0, 1, 3]), (11, [0, 1, 3, 5, 7])],
)
def test_windows_cover_the_text_and_overlap_by_half(pieces: int, starts: list[int]) -> None:
    tokens = Tokens([-1, *range(pieces), -2], list(range(1, pieces + 1)))
    found = tokens.windows(6)
    assert found.starts == starts
    for start, part in zip(found.starts, found.parts, strict=True):
        assert part.ids == [-1, *range(start, start + 4), -2]
        assert part.pieces == [1, 2, 3, 4]
    assert max(np.diff(found.starts), default=0) <= 2
    assert found.starts[-1] + 4 == pieces


def test_overlong_texts_are_refused_truncated_or_windowed(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    strict, first, whole = (opened(folder, policy) for policy in ("error", "truncate", "window"))
    room = strict.room
    assert room == LIMIT - 1  # the end of the sentence
    ids = strict.tokenizer.encode(LONG).ids[:-1]
    assert len(ids) > 2 * room
    with pytest.raises(PrismError, match=rf"{len(ids) + 1} pieces .* set `overlong=`"):
        strict.encode([LONG])
    with caplog.at_level(logging.WARNING):
        [short, cut] = first.encode([SENTENCES[0], LONG])
        [same, joined] = whole.encode([SENTENCES[0], LONG])
        first.encode([LONG])
    assert [record.getMessage().split(", such")[0] for record in caplog.records] == [
        f"the encoder made reads texts of more than {room} pieces up to that piece",
        f"the encoder made reads texts of more than {room} pieces in windows",
    ]
    assert cut.shape[1] == room
    assert joined.shape[1] == len(ids)
    # Texts that fit are none of this option's business.
    np.testing.assert_allclose(short, strict.encode([SENTENCES[0]])[0], atol=1e-5)
    np.testing.assert_allclose(same, short, atol=1e-5)
    # Every piece is the mean of its vectors in the windows that have it.
    tokens = strict.tokenizer.encode(LONG)
    windows = tokens.windows(LIMIT)
    states = [strict.states([part])[0][:, part.pieces] for part in windows.parts]
    for piece in range(len(ids)):
        own = [
            part[:, piece - start]
            for start, part in zip(windows.starts, states, strict=True)
            if start <= piece < start + room
        ]
        assert 1 <= len(own) <= 3
        np.testing.assert_allclose(joined[:, piece], np.mean(own, axis=0), atol=1e-5)


def test_the_cache_does_not_mix_policies(folder: Path) -> None:
    def encode(policy: OverlongPolicy) -> int:
        return len(StoredEncoder(opened(folder, policy)).encode([LONG])[0][0])

    assert encode("window") > encode("truncate") == LIMIT - 1
    assert encode("window") > LIMIT
    with pytest.raises(PrismError, match="overlong"):
        encode("error")
