"""The tool that loads a server notices what it looks for; `make hostile` runs it for ten minutes."""

import http.client
import urllib.error
from email.message import Message
from typing import Any

import pytest
from hostile import serve_load
from hostile.serve_load import Seen, ask, difference, failed

GOOD = {"segments": [-1.0, -2.0], "signature": "made"}


@pytest.mark.parametrize(
    ("answer", "is_wrong"),
    [
        (GOOD, False),
        (GOOD | {"segments": [-1.00001, -2.0]}, False),  # depends on what else is in the batch
        (GOOD | {"segments": [-1.0, -2.001]}, True),
        (GOOD | {"segments": [-1.0]}, True),
        (GOOD | {"segments": [-1.0, None]}, True),
        (GOOD | {"signature": "another"}, True),
        ({"error": "made"}, True),
        (None, True),
    ],
)
def test_wrong_answers(answer: object, is_wrong: bool) -> None:
    assert bool(difference(answer, GOOD)) == is_wrong


@pytest.mark.parametrize(
    ("change", "stopped", "verdict"),
    [
        ({}, 1.0, []),
        ({"answers": 0}, 1.0, ["no honest request was answered"]),
        ({"attacks": 0}, 1.0, ["no hostile request was made"]),
        ({"wrong": 1}, 1.0, ["wrong scores"]),
        ({"missing": 1}, 1.0, ["requests without scores"]),
        ({"starved": 1}, 1.0, ["an honest client waited more than 10 s"]),
        ({"memory": 0}, 1.0, ["memory was not measured"]),
        ({"memory": 2 << 30}, 5.1, ["more than 1024 MB", "Ctrl-C took more than 5 s"]),
    ],
)
def test_verdict(change: dict[str, int], stopped: float, verdict: list[str]) -> None:
    seen = Seen(**{"answers": 9, "attacks": 9, "memory": 1 << 29} | change)  # type: ignore[arg-type]
    assert failed(Seen(answers=1), seen, stopped) == verdict


def test_an_error_whose_text_does_not_arrive_ends_no_client(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def read(self, size: int) -> bytes:
            raise http.client.IncompleteRead(b"")

        def close(self) -> None:
            pass

    def refuse(*arguments: Any) -> None:
        raise urllib.error.HTTPError("", 503, "busy", Message(), Broken())  # type: ignore[arg-type]

    monkeypatch.setattr(serve_load, "post", refuse)
    trouble, details = ask(0, {}, {})
    assert trouble == "missing"
    assert details.startswith("503: IncompleteRead")
