"""A server on a real socket, and requests to it."""

import json
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from typing import Any

import uvicorn

CAND = ["Hello world!", "This is a test.", "She bought three apples."]
REF = ["Hello, world.", "It is a test.", "She bought two pears."]


def serve(app: Any) -> Generator[str, None, None]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


def post(url: str, body: Any, kind: str = "application/json") -> tuple[int, Any]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": kind})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read().decode()
            return answer.status, json.loads(text) if "json" in answer.headers["Content-Type"] else text
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def endless(*_: Any) -> str:
    """Work in a process that has to be stopped."""
    time.sleep(600)
    return ""
