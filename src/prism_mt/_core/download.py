"""Downloads that go on where an earlier attempt stopped."""

import http.client
import urllib.error
import urllib.request
from pathlib import Path

from prism_mt._core.errors import PrismError
from prism_mt._core.progress import counter

_BLOCK = 1 << 20


def download(address: str, path: Path) -> None:
    """Fetch into `<name>.partial` beside `path`, whose folder must exist, and rename it when it is whole."""
    partial = path.with_name(f"{path.name}.partial")
    start = partial.stat().st_size if partial.exists() else 0
    try:
        request = urllib.request.Request(address, headers={"Range": f"bytes={start}-"} if start else {})
        with urllib.request.urlopen(request, timeout=60) as answer:
            resumed = answer.status == 206
            total = (start if resumed else 0) + int(answer.headers.get("Content-Length") or 0)
            with (
                open(partial, "ab" if resumed else "wb") as file,
                counter("downloading", total // _BLOCK) as advance,
            ):
                while block := answer.read(_BLOCK):
                    file.write(block)
                    advance()
    except urllib.error.HTTPError as error:
        if error.code != 416 or not start:  # 416: nothing is left to fetch
            raise PrismError(f"cannot download {address}: {error}") from error
        total = start
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise PrismError(
            f"cannot download {address}: {error}; the same command goes on where it stopped"
        ) from error
    if total and partial.stat().st_size != total:
        raise PrismError(f"{address} ended early: the same command goes on where it stopped")
    partial.rename(path)
