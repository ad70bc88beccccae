"""Who may connect."""

import asyncio
import socket
from typing import Any

import pytest

from prism_mt._core.errors import PrismError
from prism_mt.serve import connections
from prism_mt.serve.connections import Impatient, OwnHosts, listen


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("localhost", True),
        ("LOCALHOST:8000", True),
        ("127.0.0.1:8000", True),
        ("[::1]:8000", True),
        ("192.168.1.5", True),
        ("cluster.example:80", True),
        ("evil.example", False),
        ("evil.example:8000", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example", False),
        ("[evil]", False),
        ("", False),
    ],
)
def test_hosts(host: str, own: bool) -> None:
    passed = []
    answers: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        passed.append(scope)

    async def send(message: Any) -> None:
        answers.append(message)

    scope = {"type": "http", "headers": [(b"host", host.encode())]}
    asyncio.run(OwnHosts(app, frozenset({"Cluster.example"}))(scope, None, send))  # type: ignore[arg-type]
    assert (bool(passed), bool(answers)) == (own, not own)
    assert own or answers[0]["status"] == 421


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PrismError, match=f"cannot listen on 127.0.0.1, port {port}: Address already in use"):
            listen("127.0.0.1", port)
    with pytest.raises(PrismError, match="cannot listen on no.such.host.invalid"):
        listen("no.such.host.invalid", 8000)


def test_half_a_head_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    import uvicorn

    monkeypatch.setattr(connections, "_PATIENCE", 0.2)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def run() -> list[bytes]:
        opened = listen("127.0.0.1", 0)
        server = uvicorn.Server(
            uvicorn.Config(app, http=Impatient, timeout_keep_alive=1, lifespan="off", log_level="error")
        )
        task = asyncio.create_task(server.serve([opened]))
        while not server.started:
            await asyncio.sleep(0.01)
        found = []
        whole = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
        for sent in (b"", whole[:20], whole + whole[:20]):
            reader, writer = await asyncio.open_connection(*opened.getsockname())
            writer.write(sent)
            found.append((await asyncio.wait_for(reader.read(), 30))[:12])
            writer.close()
        server.should_exit = True
        await task
        return found

    assert asyncio.run(run()) == [b"", b"", b"HTTP/1.1 204"]


def test_a_port_listens_before_it_is_announced() -> None:
    with listen("127.0.0.1", 0) as opened, socket.create_connection(opened.getsockname(), timeout=5) as client:
        assert client.getpeername() == opened.getsockname()
