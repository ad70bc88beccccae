"""What metrics share is made once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from made import make_model

from prism_mt._core.errors import PrismError
from prism_mt.metrics.runtime import Runtime
from prism_mt.models.directory import write_model


def test_models_and_engines_are_shared(tmp_path: Path) -> None:
    folder = str(write_model(make_model(), tmp_path / "made").folder)
    runtime = Runtime()
    assert runtime.model(folder) is runtime.model(folder)
    assert runtime.engine(folder) is runtime.engine(folder)
    assert runtime.engine(folder) is not runtime.engine(folder, temperature=2.0)
    assert runtime.language(folder, "German") == "de"
    with pytest.raises(PrismError, match="sw"):
        runtime.language(folder, "sw")


def test_threads_that_ask_at_once_get_the_same() -> None:
    runtime, both_make = Runtime(), threading.Barrier(2, timeout=0.5)

    def make() -> object:
        with suppress(threading.BrokenBarrierError):  # as it should be: the other thread never comes here
            both_make.wait()
        return object()

    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(lambda _: runtime.share("key", make), range(2))
    assert first is second
    assert both_make.broken


def test_what_fails_is_tried_again() -> None:
    runtime = Runtime()

    def fail() -> object:
        raise PrismError("not now")

    with pytest.raises(PrismError, match="not now"):
        runtime.share("key", fail)
    assert runtime.share("key", lambda: "made") == "made"
