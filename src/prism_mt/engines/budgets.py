"""Batch sizes by engine and device, found by measurement: larger ones take more memory without being faster."""

from typing import NamedTuple

from prism_mt.engines.base import EngineName


class Budget(NamedTuple):
    """Padded tokens of a batch."""

    cpu: int
    gpu: int

    def on(self, device: str) -> int:
        """Return the budget for a kind of device (`cpu`, `cuda` or `mps`)."""
        return self.cpu if device == "cpu" else self.gpu


SCORING: dict[EngineName, Budget] = {"ct2": Budget(2048, 32768), "torch": Budget(4096, 32768)}
"""Tokens of sources and targets together."""
SEARCH: dict[EngineName, Budget] = {"ct2": Budget(8192, 131072), "torch": Budget(16384, 131072)}
"""Source tokens times hypotheses per segment."""
CLUSTER_JOB = Budget(8192, 131072)
"""Tokens sent to an actor at a time, per thread or GPU: a few of the batches that suit the device."""
ENCODING = 4096
LASER_ENCODING = 12_000


def search_window(width: int) -> int:
    """Return how many segments with `width` hypotheses each fill some sixteen batches of 32 tokens per segment."""
    return max(16, 16 * SEARCH["ct2"].cpu // (32 * width))
