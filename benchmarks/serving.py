"""`prism serve` under load beside `prism score` on the same pairs, in one run.

    python benchmarks/serving.py [--model M] [--seconds 60] [--clients 8] [--batch 32]

Clients send batches as fast as they are answered, and every answer is compared with what `prism score` wrote. One more
client sends what must be refused (malformed, oversized, aborted). The speed of `prism score` is that without start-up.
Texts are those of the example with words exchanged, so that no pair occurs twice.
"""

import argparse
import http.client
import itertools
import json
import os
import random
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prism_mt.models.directory import write_model
from prism_mt.models.resolve import DEFAULT_MODEL, embedded
from prism_mt.report.table import Column, Table, number, render

HERE = Path(__file__).resolve().parent
EXAMPLE = HERE.parent / "examples" / "wmt21-en-de" / "ref.de"
PRISM = (sys.executable, "-m", "prism_mt")


@dataclass
class Texts:
    """Parallel texts and what `prism score` says of them."""

    cand: list[str]
    ref: list[str]
    scores: list[float] = field(default_factory=list)


@dataclass
class Load:
    """What happened to the requests."""

    pairs: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    statuses: Counter[str] = field(default_factory=Counter)
    worst: float = 0.0
    """Largest difference from the scores of `prism score`."""
    memory: list[float] = field(default_factory=list)
    """MB, once a second."""


def make_texts(count: int) -> Texts:
    chance = random.Random(0)
    lines = [line.split() for line in EXAMPLE.read_text(encoding="utf-8").splitlines()]
    words = [word for line in lines for word in line]

    def noisy(line: list[str]) -> list[str]:
        return [chance.choice(words) if chance.random() < 0.15 else word for word in line]

    made = Texts([], [])
    for _ in range(count):
        base = noisy(chance.choice(lines))
        made.ref.append(" ".join(base))
        made.cand.append(" ".join(noisy(base)))
    return made


def model_name(given: str | None, folder: Path) -> str:
    """The model asked for, the embedded one, or one of about its size with random weights."""
    if given or embedded().is_dir():
        return given or DEFAULT_MODEL
    sys.path.insert(0, str(HERE.parent / "tests"))
    from made import make_model

    sizes: dict[str, Any] = {
        "encoder_layers": 5,
        "decoder_layers": 3,
        "encoder_feed_forward": 1024,
        "decoder_feed_forward": 1024,
    }
    return str(write_model(make_model(width=256, max_positions=1024, **sizes), folder / "made").folder)


def run_score(texts: Texts, model: str, folder: Path) -> tuple[float, float]:
    """Wall and CPU seconds of the command; the scores are kept."""
    sides = {"cand": texts.cand, "ref": texts.ref}
    for name, lines in sides.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    files = [word for name in sides for word in (f"--{name}", str(folder / name))]
    out = folder / "scores.txt"
    command = [*PRISM, "score", *files, "--lang", "de", "--model", model, "--segments", "--no-cache"]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([*command, "--no-language-check", "--output", str(out)], check=True)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    texts.scores = [float(line) for line in out.read_text().splitlines() if _is_number(line)]
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _is_number(line: str) -> bool:
    try:
        float(line)
    except ValueError:
        return False
    return True


@contextmanager
def server(model: str) -> Iterator[tuple[int, int]]:
    """A running `prism serve`: its port and process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([*PRISM, "serve", "--model", model, "--port", str(port)], stdout=subprocess.DEVNULL)
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                if process.poll() is not None:
                    raise SystemExit("prism serve did not start") from None
                time.sleep(0.2)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait()


def send(connection: http.client.HTTPConnection, body: bytes) -> tuple[int, bytes]:
    connection.request("POST", "/score", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, answer.read()


def client(port: int, texts: Texts, starts: Iterator[int], batch: int, until: float, load: Load) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    while time.perf_counter() < until:
        start = next(starts)
        part = slice(start, start + batch)
        body = {"cand": texts.cand[part], "ref": [texts.ref[part]], "lang": "de"}
        status, answer = send(connection, json.dumps(body).encode())
        load.statuses[f"good: {status}"] += 1
        if status == 200:
            found = json.loads(answer)["segments"]
            load.pairs += len(found)
            gaps = (abs(a - b) for a, b in zip(found, texts.scores[part], strict=True))
            load.worst = max(load.worst, *gaps)


def nuisance(port: int, until: float, load: Load) -> None:
    """Requests that must be refused, two a second."""
    bad = {"malformed": b'{"cand": [', "oversized": b" " * 5_000_000}
    for name in itertools.cycle([*bad, "aborted"]):
        if time.perf_counter() > until:
            return
        if name == "aborted":
            with socket.create_connection(("127.0.0.1", port)) as raw:
                raw.sendall(b"POST /score HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n")
        else:
            try:
                status: object = send(http.client.HTTPConnection("127.0.0.1", port), bad[name])[0]
            except OSError:  # refused while the body was still being sent
                status = "closed"
            load.statuses[f"{name}: {status}"] += 1
        time.sleep(0.5)


def put_under_load(port: int, process: int, texts: Texts, clients: int, batch: int, seconds: float) -> Load:
    load = Load()
    starts = itertools.cycle(range(0, len(texts.cand), batch))
    send(
        http.client.HTTPConnection("127.0.0.1", port),
        json.dumps({"cand": ["a"], "ref": [["a"]], "lang": "de"}).encode(),
    )
    begin, cpu = time.perf_counter(), cpu_seconds(process)
    until = begin + seconds
    work = [
        threading.Thread(target=client, args=(port, texts, starts, batch, until, load)) for _ in range(clients)
    ]
    work.append(threading.Thread(target=nuisance, args=(port, until, load)))
    for thread in work:
        thread.start()
    while any(thread.is_alive() for thread in work):
        time.sleep(1)
        load.memory.append(memory_mb(process))
    load.seconds = time.perf_counter() - begin
    load.cpu = cpu_seconds(process) - cpu
    return load


def cpu_seconds(process: int) -> float:
    user, system = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def memory_mb(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="default: the embedded one, or one with random weights")
    parser.add_argument("--pairs", type=int, default=4000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--batch", type=int, default=32, help="pairs per request")
    options = parser.parse_args()
    texts = make_texts(options.pairs)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        model = model_name(options.model, folder)
        first = Texts(texts.cand[:1], texts.ref[:1])
        run_score(first, model, folder)  # converts the model
        start_up, start_up_cpu = run_score(first, model, folder)
        seconds, cpu = run_score(texts, model, folder)
        with server(model) as (port, process):
            load = put_under_load(port, process, texts, options.clients, options.batch, options.seconds)
    alone, alone_cpu = (
        (options.pairs - 1) / (seconds - start_up),
        1000 * (cpu - start_up_cpu) / (options.pairs - 1),
    )
    served, served_cpu = load.pairs / load.seconds, 1000 * load.cpu / max(load.pairs, 1)
    columns = (Column("command"), number("pairs/s", 1), number("ratio", 2), number("CPU s per 1,000 pairs", 2))
    rows = (("prism score", alone, 1.0, alone_cpu), ("prism serve", served, served / alone, served_cpu))
    print(render(Table(columns, rows)), end="")
    print(f"answers: {', '.join(f'{key} × {count:,}' for key, count in sorted(load.statuses.items()))}")
    print(f"largest difference between their scores: {load.worst:.6f}")
    first_mb, most_mb, last_mb = load.memory[0], max(load.memory), load.memory[-1]
    print(
        f"memory of the server: {first_mb:.0f} MB after a second, {most_mb:.0f} at most, {last_mb:.0f} at the end"
    )


if __name__ == "__main__":
    main()
