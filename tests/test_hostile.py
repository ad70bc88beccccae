"""A slice of the hostile cases; `make hostile` runs many more, in processes of their own."""

from pathlib import Path

import pytest
from hostile.cases import Bench
from hostile.readers import READERS

CASES = 50
"""Of each reader."""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("hostile"))


@pytest.mark.parametrize("name", [reader.name for reader in READERS])
def test_nothing_hostile_gets_through(bench: Bench, name: str) -> None:
    cases = [bench.run(name, seed) for seed in range(CASES)]
    assert [case for case in cases if case.verdict != "fine"] == []


def test_the_tool_notices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that fails otherwise than with our own error is told of, by the file and the seed that do it."""
    from dataclasses import replace

    from hostile import cases

    def broken(path: Path) -> None:
        raise KeyError(path.name)

    monkeypatch.setattr(cases, "READERS", (replace(READERS[0], read=broken, command=()),))
    [case] = [Bench(tmp_path).run(READERS[0].name, seed) for seed in (1,)]
    assert (case.verdict, "KeyError" in case.detail) == ("traceback", True)
