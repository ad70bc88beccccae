"""Segments as ids, and the order in which fine-tuning meets them."""

from pathlib import Path

import pytest
from made import make_model
from made_segments import made_segments

from prism_mt._core.errors import PrismError
from prism_mt.models.directory import ModelDirectory, write_model
from prism_mt.training.ranking.segments import EncodedSegment, RoundRobin, cut_batches, encode_segments


@pytest.fixture
def base(tmp_path: Path) -> ModelDirectory:
    return write_model(make_model(encoder_layers=1, decoder_layers=1), tmp_path / "model")


def test_smaller_language_pairs_come_again(base: ModelDirectory) -> None:
    segments = encode_segments([*made_segments(6, 2), *made_segments(2, 2, "zh-en")], base, 100)
    stream = RoundRobin(segments, seed=1)
    epoch = stream.epoch(0)
    assert [segment.lp for segment in epoch] == ["en-de", "zh-en"] * 6
    assert [sum(segment is one for one in epoch) for segment in segments] == [1] * 6 + [3, 3]
    assert [id(one) for one in epoch] != [id(one) for one in stream.epoch(1)]
    whole = [segment for update in _some(stream, 0) for segment in update]
    assert [id(one) for one in whole[5:12]] == [id(one) for update in _some(stream, 5) for one in update][:7]


def _some(stream: RoundRobin, position: int) -> list[list[EncodedSegment]]:
    updates = stream.updates(position, 60)
    return [next(updates) for _ in range(12)]


def test_batches_keep_all_segments_within_the_budget(base: ModelDirectory) -> None:
    segments = encode_segments(made_segments(12, 3), base, 100)
    batches = cut_batches(segments, 200)
    assert sorted(id(one) for batch in batches for one in batch) == sorted(map(id, segments))
    for batch in batches:
        padded = sum(len(one.output_targets) for one in batch) * max(one.longest for one in batch)
        assert len(batch) == 1 or padded <= 200


def test_languages_that_the_model_does_not_have(base: ModelDirectory) -> None:
    with pytest.raises(PrismError, match="ja"):
        encode_segments(made_segments(1, 2, "en-ja"), base, 100)
