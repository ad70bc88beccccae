import signal
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
import torch

from prism_mt.training.distributed import World
from prism_mt.training.stopping import Stop


@dataclass(frozen=True)
class Others(World):
    """A process among others, some of which have got a signal or run out of time."""

    wishes: tuple[float, float]

    def sums(self, values: Sequence[float]) -> list[float]:
        return [own + other for own, other in zip(values, self.wishes, strict=True)]


@pytest.mark.parametrize(
    ("wishes", "needed", "out_of_time"),
    [((0, 0), False, False), ((0, 1), True, True), ((1, 0), True, False), ((1, 1), True, False)],
)
def test_a_process_stops_with_the_others_and_for_their_reason(
    wishes: tuple[float, float], needed: bool, out_of_time: bool
) -> None:
    stop = Stop(minutes=0)
    with stop.watch():
        assert stop.needed(Others(0, 2, torch.device("cpu"), wishes)) == needed
    assert stop.out_of_time == out_of_time


def test_the_minutes_begin_at_once() -> None:
    alone = World(0, 1, torch.device("cpu"))
    assert not Stop(minutes=5).needed(alone)
    stop = Stop(minutes=1e-9)
    assert stop.needed(alone)
    assert stop.out_of_time


def test_a_second_signal_is_not_held_back() -> None:
    stop = Stop(minutes=0)
    with pytest.raises(KeyboardInterrupt), stop.watch():
        signal.raise_signal(signal.SIGINT)
        assert stop.needed(World(0, 1, torch.device("cpu")))
        signal.raise_signal(signal.SIGINT)
