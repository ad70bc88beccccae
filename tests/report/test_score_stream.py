"""Segment scores that are written while they are made."""

import io
from collections.abc import Iterator
from typing import Literal

import pytest

from prism_mt.metrics.base import SegmentScore
from prism_mt.report.scores import stream_segments

HEAD = "# made|nrefs:2\nmetric\tsystem\tsegment\tscore\n"


@pytest.mark.parametrize(
    ("format", "lines"),
    [("text", ["0.5\n", "-1.25\n"]), ("tsv", [f"{HEAD}made\ta\\tb\t1\t0.5\n", "made\ta\\tb\t2\t-1.25\n"])],
)
def test_every_line_is_written_before_the_next_is_scored(format: Literal["text", "tsv"], lines: list[str]) -> None:
    handle = io.StringIO()

    def scores() -> Iterator[SegmentScore]:
        yield SegmentScore(0.5)
        assert handle.getvalue() == lines[0]
        yield SegmentScore(-1.25)

    stream_segments(handle, format, "made", "made|nrefs:2", "a\tb", scores())
    assert handle.getvalue() == "".join(lines)
