"""`prism serve` over a real socket."""

import json
import shutil
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from made import make_model
from made_page import EVIL
from served import CAND, REF, post, serve

from prism_mt.api import load_model
from prism_mt.cli.main import main
from prism_mt.metrics.base import Segment
from prism_mt.metrics.runtime import Runtime
from prism_mt.models.directory import write_model
from prism_mt.serve.app import make_app
from prism_mt.serve.lanes import Job, Task
from prism_mt.serve.requests import Limits
from prism_mt.serve.scorer import ScoringThreads

GOOD: dict[str, Any] = {"cand": CAND, "ref": [REF], "lang": "en"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(make_model(max_positions=64), tmp_path_factory.mktemp("serve") / "made").folder


@pytest.fixture(scope="module")
def scorer(folder: Path) -> Iterator[ScoringThreads]:
    made = ScoringThreads(Runtime(), [str(folder)])
    yield made
    made.close()


@pytest.fixture(scope="module")
def address(scorer: ScoringThreads, folder: Path) -> Iterator[str]:
    app = make_app(
        scorer,
        [str(folder)],
        Limits(bytes=20_000, segments=100, comparisons=200, systems=4, characters=5_000, seconds=60),
    )
    yield from serve(app)


def test_scores_are_those_of_the_library(address: str, folder: Path) -> None:
    status, found = post(f"{address}/score", {**GOOD, "tokens": True})
    wanted = load_model(str(folder)).score(CAND, ref=REF, lang="en").item()
    assert status == 200
    assert found["segments"] == pytest.approx(wanted.segments.tolist(), abs=1e-5)
    assert found["score"] == pytest.approx(wanted.score, abs=1e-5)
    assert found["signature"] == wanted.signature
    assert [len(traces) for traces in found["tokens"]] == [2, 2, 2]
    status, found = post(f"{address}/score", {**GOOD, "metric": "chrf"})
    assert (status, found["signature"].split("|")[0]) == (200, "chrf")


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"{", 422, "Invalid JSON"),
        ({**GOOD, "cand": []}, 422, "cand"),
        ({**GOOD, "cand": [1, 2, 3]}, 422, "cand.0"),
        ({**GOOD, "cand": CAND[:2]}, 422, "system 'cand' has 2 lines but ref 1 has 3"),
        ({**GOOD, "metric": "comet"}, 422, "metric"),
        ({**GOOD, "metric": "prism-src"}, 422, " needs sources: set src"),
        ({**GOOD, "ref": []}, 422, " needs references: set ref"),
        ({**GOOD, "lang": ""}, 422, "needs the language of the outputs: set lang"),
        ({**GOOD, "lang": "sw"}, 422, "it supports de, en, fr, ru, zh"),
        ({**GOOD, "model": "/etc/passwd"}, 422, "no model '/etc/passwd' is served, only "),
        ({**GOOD, "options": {"model": "/etc/passwd"}}, 422, "no model '/etc/passwd' is served, only "),
        ({**GOOD, "options": {"direction": "up"}}, 422, "direction must be one of forward, backward, both"),
        ({**GOOD, "metric": "lm", "options": {"language_model": "/etc"}}, 422, "no metric 'lm'"),
        ({**GOOD, "cand": ["\ud800", "b", "c"]}, 422, "Invalid JSON"),
        ({**GOOD, "file": "/etc/passwd"}, 422, "file"),
        ({**GOOD, "cand": ["a b " * 200, "b", "c"]}, 422, "the model takes at most"),
        ({**GOOD, "cand": ["a"] * 101, "ref": [["a"] * 101]}, 413, "100 outputs, not 101"),
        ({**GOOD, "ref": [REF] * 70, "metric": "chrf"}, 413, "200 outputs times references and metrics, not 210"),
        (
            {**GOOD, "cand": ["a" * 5001, "b", "c"]},
            413,
            "5,000 characters in one text and what it is compared with, not 5,0",
        ),
        ({**GOOD, "cand": ["a" * 30_000]}, 413, "20,000 bytes"),
    ],
)
def test_bad_requests_get_a_status_and_a_sentence(address: str, body: Any, status: int, message: str) -> None:
    got, answer = post(f"{address}/score", body)
    assert (got, message in answer["error"]) == (status, True), answer
    assert post(f"{address}/score", {**GOOD, "metric": "chrf"})[0] == 200  # and nothing is broken


def test_no_spans_for_metrics_without_tokens(address: str) -> None:
    body = {"cand": ["a"], "ref": ["b"], "lang": "en", "metric": "chrf", "spans": True}
    status, answer = post(f"{address}/score", body)
    assert status == 422
    assert "chrf cannot find error spans" in answer["error"]


def test_only_json_is_taken(address: str) -> None:
    assert post(f"{address}/score", json.dumps(GOOD).encode(), "text/plain")[0] == 415


HEAD = "POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
PART = HEAD.encode() + b"500\r\n\r\n{"


def connect(address: str) -> socket.socket:
    host, port = address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=60)


def test_aborted_request(address: str, caplog: Any) -> None:
    with connect(address) as raw:
        raw.sendall(PART)
    assert post(f"{address}/score", {**GOOD, "metric": "chrf"})[0] == 200
    assert caplog.records == []  # nothing that an operator has to look at


def test_request_that_does_not_end(scorer: ScoringThreads) -> None:
    for address in serve(make_app(scorer, ["made"], Limits(seconds=0.1))):
        with connect(address) as raw:
            raw.sendall(PART)
            assert raw.recv(1000).startswith(b"HTTP/1.1 408 ")


def test_many_clients_at_once(address: str) -> None:
    _, wanted = post(f"{address}/score", GOOD)
    long = {**GOOD, "cand": ["a b " * 200, "b", "c"]}
    with ThreadPoolExecutor(8) as clients:
        found = list(clients.map(lambda n: post(f"{address}/score", long if n % 5 == 4 else GOOD), range(20)))
    assert [status for status, _ in found] == [422 if n % 5 == 4 else 200 for n in range(20)]
    for _, answer in found[:4]:
        assert answer["segments"] == pytest.approx(wanted["segments"], abs=1e-5)


def test_report(address: str) -> None:
    body = {"systems": {"A": CAND, "<b>": REF}, "ref": [REF], "lang": "en", "metrics": ["prism-ref", "chrf"]}
    status, html = post(f"{address}/report", body)
    assert status == 200
    assert "A and &lt;b&gt; compared" in html
    assert "<b>" not in html


class Never(ScoringThreads):
    """Takes jobs, and does nothing about them."""

    def __init__(self) -> None:
        super().__init__(Runtime(), [])
        self.taken: list[Job] = []

    def submit(self, task: Task, segments: Sequence[Segment]) -> Job:
        self.taken.append(Job(task, segments))
        return self.taken[-1]


def test_client_that_leaves_gives_its_place_away() -> None:
    never = Never()
    taken = never.taken
    for address in serve(make_app(never, ["made"])):
        body = json.dumps(GOOD).encode()
        head = f"{HEAD}{len(body)}"
        with connect(address) as raw:
            raw.sendall(head.encode() + b"\r\n\r\n" + body)
            wait_until(lambda: bool(taken))
        wait_until(lambda: taken[0].abandoned)
        assert taken[0].answer.cancelled()
    never.close()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_name_that_is_there_twice(address: str) -> None:
    body = b'{"systems": {"A": ["a"], "A": ["b"]}, "ref": [["c"]], "metrics": ["chrf"]}'
    assert post(f"{address}/report", body) == (422, {"error": "'A' occurs twice: every name may occur once"})


def test_too_many_systems(address: str) -> None:
    body = {"systems": {str(n): ["a"] for n in range(5)}, "ref": [["c"]], "metrics": ["chrf"]}
    status, answer = post(f"{address}/report", body)
    assert (status, "4 systems, not 5" in answer["error"]) == (413, True)


def test_the_interface_describes_itself(address: str) -> None:
    with urllib.request.urlopen(f"{address}/openapi.json", timeout=60) as answer:
        described = json.load(answer)
    score = described["paths"]["/score"]["post"]
    assert {"200", "413", "415", "422", "503"} <= set(score["responses"])
    schema = score["requestBody"]["content"]["application/json"]["schema"]
    assert {"cand", "ref", "src", "lang", "metric", "model", "tokens"} <= set(schema["properties"])
    assert set(described["components"]["schemas"]["ScoreAnswer"]["required"]) == {"score", "segments", "signature"}
    assert set(described["paths"]) == {"/score", "/report", "/health", "/languages"}


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as answer:
        text: str = answer.read().decode()
        return text


def test_health_and_languages(address: str, folder: Path) -> None:
    health = json.loads(get(f"{address}/health"))
    assert (health["status"], health["models"]) == ("ok", [str(folder)])
    assert "prism-ref" in health["metrics"]
    found = json.loads(get(f"{address}/languages"))[str(folder)]
    assert (found["de"], found["zh"]) == ("German", "Chinese")


def test_docs_need_nothing_from_elsewhere(address: str) -> None:
    html = get(f"{address}/docs")
    assert "POST /score" in html
    assert "<code>src_lang</code>" in html
    assert "list of strings or list of lists of strings" in html
    assert f"curl -s {address}/score" in html
    assert "<script" not in html
    assert "http" not in html.replace(address, "").replace("http-equiv", "")


def test_several_metrics_and_a_single_reference(address: str) -> None:
    status, found = post(f"{address}/score", {**GOOD, "ref": REF, "metrics": ["prism-ref", "chrf", "ter"]})
    assert (status, [one["metric"] for one in found["metrics"]]) == (200, ["prism-ref", "chrf", "ter"])
    for one in found["metrics"]:
        _, alone = post(f"{address}/score", {**GOOD, "metric": one["metric"]})
        assert one["segments"] == pytest.approx(alone["segments"], abs=1e-5)
        assert one["signature"] == alone["signature"]
    status, answer = post(f"{address}/score", {**GOOD, "metric": "chrf", "metrics": ["ter"]})
    assert (status, "one metric with its options, or several" in answer["error"]) == (422, True)
    status, answer = post(f"{address}/score", {**GOOD, "ref": ["a", ["b"]]})
    assert (status, answer["error"].startswith("ref.0")) == (422, True)


def test_time_limit() -> None:
    never = Never()
    for address in serve(make_app(never, ["made"], Limits(seconds=2.0))):
        status, answer = post(f"{address}/score", GOOD)
        assert (status, "not done within 2 seconds" in answer["error"]) == (503, True)
    assert never.taken[0].abandoned
    never.close()


def test_page_in_a_browser(address: str) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        trouble: list[str] = []
        page.on("dialog", lambda dialog: trouble.append(dialog.message))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.goto(address)
        page.fill(".system >> nth=0 >> textarea", "\n".join(CAND))
        page.fill(".system >> nth=1 >> textarea", "\n".join(REF[:2]))
        page.click("#add")
        files = [{"name": name, "mimeType": "text/plain", "buffer": b"a\nb\nc\n"} for name in ("c.txt", EVIL)]
        page.set_input_files(".system >> nth=2 >> input[type=file]", files)
        page.locator(".system >> nth=3").wait_for()
        page.fill("#ref", "\n".join(REF) + "\n")
        page.click("button[type=submit]")
        page.locator("#status", has_text="B has 2 lines, others have 3").wait_for()
        page.click(".system >> nth=1 >> .remove")
        page.click("button[type=submit]")
        page.locator("#status", has_text="needs the language of the outputs: set lang").wait_for()
        page.fill("#lang", "en")
        page.click("button[type=submit]")
        page.locator("#status", has_text="3 of 3 segments").wait_for()
        assert page.locator("#scores tbody tr").count() == 3 * 4  # the reference and three systems
        page.check("#metrics input[value=chrf]")
        page.click("button[type=submit]")
        page.locator("#status", has_text="chrf|").wait_for()
        assert page.locator("#scores thead th").all_inner_texts() == [
            "segment",
            "system",
            "text",
            "prism-ref",
            "chrf",
        ]
        assert page.locator("#scores tbody tr >> nth=0").inner_text().split("\t")[:3] == ["1", "reference", REF[0]]
        assert page.locator("#scores tbody tr >> nth=1").inner_text().split("\t")[:3] == ["1", "A", CAND[0]]
        assert page.locator("#means tbody th").all_inner_texts() == ["A", "c.txt", EVIL]
        assert "German" in (page.locator("#languages").text_content() or "")
        page.click("#report")
        report = page.frame_locator("#page")
        report.locator(".piece").first.wait_for()
        assert set(report.locator("#summary tbody th").all_inner_texts()) == {"A", "c.txt", EVIL}
        assert trouble == []
        browser.close()


def test_command_tells_mistakes(capsys: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["serve", "--port", str(taken.getsockname()[1])]) == 2
    told = capsys.readouterr()
    assert "Address already in use: choose another --port" in told.err
    assert told.out == ""
    assert main(["serve", "--model", "nowhere"]) == 2
    assert "no model 'nowhere'" in capsys.readouterr().err
