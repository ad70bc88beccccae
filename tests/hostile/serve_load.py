"""`prism serve` with eight honest clients and hostile ones between them: `python -m hostile.serve_load --minutes 10`.

Reports wrong scores, the longest that an honest client waited, the memory of all processes, and how long Ctrl-C took;
the last line is PASSED, or FAILED and why.
"""

import argparse
import contextlib
import json
import os
import random
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any

CAND = ["The committee met on Tuesday.", "She bought three apples.", "Hello world!"]
REF = ["The committee convened on Tuesday.", "She bought two pears.", "Hello, world."]
HONEST: tuple[dict[str, Any], ...] = (
    {"cand": CAND, "ref": [REF], "lang": "en"},
    {"cand": CAND, "ref": [REF], "metric": "chrf"},
    {"cand": CAND, "ref": [REF, REF[::-1]], "metric": "bleu"},
    {"cand": CAND, "ref": [REF], "metric": "ter"},
)
_PATIENCE = 10.0
"""Seconds that an honest client may wait."""
_MEMORY = 2**30
"""Bytes that the server and its processes may have in memory."""
_ENDING = 5.0
"""Seconds that Ctrl-C may take."""
_WORDS = [f"w{number}" for number in range(3000)]
_TEXTS = [" ".join(random.Random(number).choices(_WORDS, k=40)) for number in range(2000)]
_LONG = {"cand": [" ".join(_WORDS)], "ref": [[" ".join(_WORDS[::-1])]], "metric": "ter"}
_SLOW = {"cand": [" ".join(_WORDS[:300])] * 50, "ref": [[" ".join(_WORDS[299::-1])] * 50], "metric": "ter"}
_MANY = {"cand": ["a"], "ref": [["b"]] * 100_000, "metric": "bleu"}
_WIDE = {"systems": {str(number): ["a"] for number in range(5000)}, "ref": [["b"]], "metrics": ["chrf"]}
_REPORT = {"systems": {str(number): _TEXTS[number::20] for number in range(20)}, "ref": [_TEXTS[:100]]}
_ATTACKS = (
    (_LONG, "/score"),
    (_SLOW, "/score"),
    (_MANY, "/score"),
    (_WIDE, "/report"),
    (_REPORT | {"metrics": ["chrf"]}, "/report"),
)


@dataclass
class Seen:
    """What the clients have seen."""

    answers: int = 0
    wrong: int = 0
    """Answers with other scores than those of a quiet server."""
    missing: int = 0
    """Requests that were refused, or got no bytes for a minute."""
    longest: float = 0.0
    starved: int = 0
    """Answers that took too long."""
    attacks: int = 0
    memory: int = 0
    own: int = 0
    """The part of it that the server has without its processes."""
    details: Counter[str] = field(default_factory=Counter)
    """What was wrong or missing, how often."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    over: threading.Event = field(default_factory=threading.Event)
    """Set when no more attacks shall begin."""


def heavy(chance: random.Random) -> dict[str, Any]:
    """A request that keeps the model busy for minutes, with texts that no cache has seen."""
    start = chance.random()
    return {"cand": [f"{start} {text}" for text in _TEXTS], "ref": [_TEXTS[::-1]], "lang": "en"}


def post(port: int, path: str, body: Any, timeout: float = 60) -> Any:
    """Send a request, and return the answer: scores, or for a report nothing."""
    data = json.dumps(body).encode()
    head = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, head)
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        text = answer.read()
        return json.loads(text) if path == "/score" else None


def ask(port: int, body: Any, wanted: Any) -> tuple[str, str]:
    """Ask honestly; return "wrong" or "missing", or nothing, and the details."""
    try:
        found = difference(post(port, "/score", body), wanted)
        return ("wrong", found) if found else ("", "")
    except urllib.error.HTTPError as error:
        return "missing", f"{error.code}: {_reason(error)}"
    except (OSError, HTTPException) as error:
        return "missing", repr(error)
    except ValueError as error:
        return "wrong", f"not JSON: {error}"


def _reason(error: urllib.error.HTTPError) -> str:
    try:
        return error.read(500).decode("utf-8", "replace")
    except (OSError, HTTPException) as trouble:  # it must not end the client: nobody would notice that it is gone
        return repr(trouble)


def difference(answer: Any, wanted: Any) -> str:
    """How an answer differs from that of a quiet server; empty if only in the last digits."""
    try:
        pairs = zip(answer["segments"], wanted["segments"], strict=True)
        same = all(abs(one - other) < 1e-4 for one, other in pairs)
        return "" if same and answer["signature"] == wanted["signature"] else f"{answer} instead of {wanted}"
    except (KeyError, TypeError, ValueError):
        return f"{answer} is no answer"


def honest(port: int, end: float, wanted: list[Any], seen: Seen, seed: int) -> None:
    chance = random.Random(seed)
    while time.monotonic() < end:
        place = chance.randrange(len(HONEST))
        start = time.monotonic()
        trouble, details = ask(port, HONEST[place], wanted[place])
        waited = time.monotonic() - start
        with seen.lock:
            seen.answers += 1
            seen.wrong += trouble == "wrong"
            seen.missing += trouble == "missing"
            seen.longest = max(seen.longest, waited)
            seen.starved += waited > _PATIENCE
            if trouble:
                seen.details[f"{trouble}, {HONEST[place].get('metric', 'prism-ref')}: {details}"] += 1
        time.sleep(chance.uniform(0, 0.2))


def attack(port: int, seen: Seen, seed: int) -> None:
    """Slow, huge, half-open and abandoned requests."""
    chance = random.Random(seed)
    while not seen.over.is_set():
        with contextlib.suppress(OSError, HTTPException):  # it gave up, as it meant to
            _attack_once(port, chance)
        with seen.lock:
            seen.attacks += 1


def _attack_once(port: int, chance: random.Random) -> None:
    kind = chance.randrange(len(_ATTACKS) + 3)
    if kind <= len(_ATTACKS):
        body, path = _ATTACKS[kind] if kind < len(_ATTACKS) else (heavy(chance), "/score")
        post(port, path, body, timeout=chance.choice((0.5, 5, 30)))
        return
    head = b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Le"
    with socket.create_connection(("127.0.0.1", port), timeout=5) as raw:
        raw.sendall(head if kind == len(_ATTACKS) + 1 else bytes(10_000))
        time.sleep(chance.uniform(0, 2))


def watch(process: int, end: float, seen: Seen) -> None:
    while time.monotonic() < end:
        own = _resident(process)
        seen.own = max(seen.own, own)
        seen.memory = max(seen.memory, own + sum(map(_resident, _children(process))))
        time.sleep(0.5)


def _children(process: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(path.read_text().rpartition(")")[2].split()[1]) == process:
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def _resident(process: int) -> int:
    """Bytes in memory; those that processes share are divided among them."""
    try:
        [size] = re.findall(r"^Pss: +(\d+) kB", Path(f"/proc/{process}/smaps_rollup").read_text(), re.M)
        return int(size) << 10
    except (OSError, ValueError):
        return 0


def main() -> int:
    """Start a server, load it, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--hostile", type=int, default=3)
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored if a shell started this in the background
    calm, seen, start = Seen(), Seen(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        stopped = load(folder, options.minutes, options.clients, options.hostile, calm, seen)
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"the server had {own.ru_utime + own.ru_stime:.0f} s of processor time in {time.monotonic() - start:.0f} s"
    )
    for what, one in (
        ("without hostile clients", calm),
        (f"with {seen.attacks:,} hostile requests", seen),
    ):
        counts = f"{one.answers:,} requests, {one.wrong} wrong, {one.missing} missing"
        print(f"{what}: {counts}, longest wait {one.longest:.1f} s, {one.starved} above {_PATIENCE:g} s")
        for details, times in one.details.most_common(10):
            print(f"  {times} × {details}")
    print(f"memory {seen.memory >> 20} MB, {seen.own >> 20} MB without processes; Ctrl-C took {stopped:.1f} s")
    failures = failed(calm, seen, stopped)
    print(f"FAILED: {'; '.join(failures)}" if failures else "PASSED")
    return int(bool(failures))


def failed(calm: Seen, seen: Seen, stopped: float) -> list[str]:
    """What does not hold of the promises."""
    told = {
        "no honest request was answered": not (calm.answers and seen.answers),
        "no hostile request was made": not seen.attacks,
        "wrong scores": calm.wrong + seen.wrong > 0,
        "requests without scores": calm.missing + seen.missing > 0,
        f"an honest client waited more than {_PATIENCE:g} s": seen.starved > 0,
        "memory was not measured": not seen.memory,
        f"more than {_MEMORY >> 20} MB": seen.memory > _MEMORY,
        f"Ctrl-C took more than {_ENDING:g} s": stopped > _ENDING,
    }
    return [name for name, is_so in told.items() if is_so]


def load(cache: str, minutes: float, clients: int, enemies: int, calm: Seen, seen: Seen) -> float:
    """Start a server, let all clients loose, the honest ones first, and return how many seconds it took to end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "prism_mt", "serve", "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"PRISM_CACHE": cache})
    try:
        assert server.stdout is not None
        assert server.stdout.readline(), "the server did not start"
        wanted = [post(port, "/score", body, timeout=600) for body in HONEST]
        _let_loose(port, server.pid, time.monotonic() + 6 * minutes, clients, 0, wanted, calm)
        _let_loose(port, server.pid, time.monotonic() + 60 * minutes, clients, enemies, wanted, seen)
        seen.over.set()
        server.send_signal(signal.SIGINT)
        start = time.monotonic()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(60)
        return time.monotonic() - start
    finally:
        server.kill()
        server.wait()


def _let_loose(
    port: int, server: int, end: float, clients: int, enemies: int, wanted: list[Any], seen: Seen
) -> None:
    """Run all clients until the end; attackers need not finish, so that the server is stopped under load."""
    for seed in range(enemies):
        threading.Thread(target=attack, args=(port, seen, seed), daemon=True).start()
    threads = [threading.Thread(target=honest, args=(port, end, wanted, seen, seed)) for seed in range(clients)]
    threads.append(threading.Thread(target=watch, args=(server, end, seen)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    sys.exit(main())
