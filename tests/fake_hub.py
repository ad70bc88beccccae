"""A Hugging Face hub on 127.0.0.1 with one repository, `org/tiny`, and a note of which of its files were fetched."""

import hashlib
import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

COMMIT = "0123456789abcdef" * 2 + "01234567"


class Hub(http.server.ThreadingHTTPServer):
    """Serves the files of a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.fetched: set[str] = set()

    @property
    def address(self) -> str:
        """What `HF_ENDPOINT` is set to."""
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serving(folder: Path) -> Iterator[Hub]:
    """Serve a folder as `org/tiny`."""
    with Hub(folder) as hub:
        threading.Thread(target=hub.serve_forever, daemon=True).start()
        try:
            yield hub
        finally:
            hub.shutdown()


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path.startswith("/api/models/org/tiny/tree/"):
            files = sorted(path for path in self.server.folder.iterdir() if path.is_file())
            self._answer(
                [
                    {"type": "file", "path": path.name, "size": path.stat().st_size, "oid": _hash(path)}
                    for path in files
                ]
            )
        elif path.startswith("/api/models/org/tiny"):
            names = [path.name for path in self.server.folder.iterdir()]
            self._answer({"id": "org/tiny", "sha": COMMIT, "siblings": [{"rfilename": name} for name in names]})
        elif (
            path.startswith("/org/tiny/resolve/") and (file := self.server.folder / path.split("/")[-1]).is_file()
        ):
            self._send(200, file.read_bytes(), {"ETag": f'"{_hash(file)}"', "X-Repo-Commit": COMMIT})
            if self.command == "GET":
                self.server.fetched.add(file.name)
        else:
            self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})

    def _answer(self, value: object) -> None:
        self._send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _send(self, code: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(code)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def _hash(path: Path) -> str:
    return hashlib.sha1(path.read_bytes(), usedforsecurity=False).hexdigest()
