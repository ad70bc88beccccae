"""Who may connect, and how long a connection may stay idle."""

import asyncio
import errno
import ipaddress
import os
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from prism_mt._core.errors import PrismError

_PATIENCE = 10.0
"""Seconds within which the head of a request must arrive."""


class OwnHosts:
    """Refuses requests for other hosts.

    A web page can make a name of its own point to this machine and then read whatever is returned under that name;
    addresses and `localhost` cannot be redirected like that.
    """

    def __init__(self, app: ASGIApp, names: frozenset[str]) -> None:
        self._app = app
        self._names = {name.lower() for name in names} | {"localhost"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 421."""
        if scope["type"] == "http" and not self._is_own(Headers(scope=scope).get("host", "")):
            error = "this server has another name: use localhost, or start it with --name"
            await JSONResponse({"error": error}, 421)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_own(self, host: str) -> bool:
        name = host.rpartition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]
        if name.lower() in self._names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


class Impatient(H11Protocol):
    """Closes connections whose request does not start in time; uvicorn would wait for them forever."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start the clock."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(_PATIENCE, self.transport.close)

    def data_received(self, data: bytes) -> None:
        """Stop the clock when the head is complete; a later request on the connection restarts it."""
        super().data_received(data)
        waiting = self.cycle is None or self.cycle.response_complete
        if self._deadline is not None and not waiting:
            self._deadline.cancel()
            self._deadline = None
        elif self._deadline is None and waiting:
            self._deadline = self.loop.call_later(_PATIENCE, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)


class Server(uvicorn.Server):
    """Ends the work before the connections, so that whoever still waits is told that the server is being stopped."""

    def __init__(self, config: uvicorn.Config, end_work: Callable[[], object]) -> None:
        super().__init__(config)
        self._end_work = end_work

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the work, then the connections."""
        await asyncio.to_thread(self._end_work)
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """Open the port; connections made from now on wait until the server answers."""
    try:
        [(family, kind, _, _, address), *_] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        found = socket.socket(family, kind)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen()
        return found
    except OSError as error:
        remedy = ": choose another --port" if error.errno == errno.EADDRINUSE else ""
        reason = os.strerror(error.errno) if isinstance(error.errno, int) and error.errno > 0 else error.strerror
        raise PrismError(f"cannot listen on {host}, port {port}: {reason}{remedy}") from error
    except UnicodeError as error:
        raise PrismError(f"{host!r} is not the name of a host") from error
