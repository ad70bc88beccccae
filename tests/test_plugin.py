"""A metric of another, really installed package is in every command, with its options, help and signature."""

import json
import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parents[1]
_PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "prism-mt-vowels"
version = "1.0"
[project.entry-points."prism_mt.metrics"]
vowels = "prism_mt_vowels"
"""
_MODULE = '''
"""A metric that counts vowels."""
from dataclasses import dataclass
from prism_mt import Metric, Scorer, SegmentScore, register
from prism_mt._core.options import option

@register("vowels")
@dataclass(frozen=True, kw_only=True)
class Vowels(Metric):
    """Difference of the numbers of vowels (lower is better)."""
    lower_is_better = True
    vowels: str = option("letters that count as vowels", "aeiou", metavar="LETTERS")
    def open(self, runtime, languages):
        return VowelScorer(self)

class VowelScorer(Scorer):
    def __init__(self, metric):
        self.metric = metric
    def score(self, segments, tokens=False):
        count = lambda text: sum(letter in self.metric.vowels for letter in text)
        for one in segments:
            yield SegmentScore(float(abs(count(one.hypothesis) - count(one.references[0]))))
    def signature(self, references=1):
        return f"vowels|letters:{self.metric.vowels}"
'''


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plugin")
    package = folder / "package"
    package.mkdir()
    (package / "pyproject.toml").write_text(_PYPROJECT)
    (package / "prism_mt_vowels.py").write_text(_MODULE)
    (package / "README.md").write_text("A metric.\n")
    (folder / "site").mkdir()
    words = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([sys.executable, *words, "--target", str(folder / "site"), str(package)], check=True)
    return folder / "site"


@pytest.fixture
def run(site: Path, tmp_path: Path):  # type: ignore[no-untyped-def]
    texts = {"a": "banana tree\nsky\n", "b": "banana\nsky high\n", "ref": "banana tree\nsky\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)

    def call(*words: str, input: str = "") -> str:
        environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{_ROOT / 'src'}"}
        done = subprocess.run(
            [sys.executable, "-m", "prism_mt", *words],
            capture_output=True, text=True, cwd=tmp_path, env=environment, input=input,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def test_score_help_and_option(run) -> None:  # type: ignore[no-untyped-def]
    assert "letters that count as vowels (default: aeiou) [vowels]" in " ".join(run("score", "--help").split())
    words = ("score", "--cand", "b", "--ref", "ref", "--metric", "vowels", "--format", "json", "--segments")
    [found] = json.loads(run(*words))["results"]
    assert found["segments"] == [2.0, 1.0]
    [found] = json.loads(run(*words, "--vowels", "y"))["results"]
    assert found["segments"] == [0.0, 0.0]
    assert found["signature"] == "vowels|letters:y"


@pytest.mark.parametrize("metric", ["vowels", "1*ter", "1*vowels"])
def test_compare_ranks_the_right_way(run, metric: str) -> None:  # type: ignore[no-untyped-def]
    words = ("compare", "--cand", "A=a", "B=b", "--ref", "ref", "--metric", metric, "--format", "json")
    assert run(*words).index('"A"') < run(*words).index('"B"')


def test_rerank_chooses_the_right_way(run) -> None:  # type: ignore[no-untyped-def]
    candidates = [
        {"text": "banana", "score": -1},
        {"text": "banana tree", "score": -2},
        {"text": "banana tee", "score": -3},
    ]
    line = json.dumps({"source": "", "translations": candidates})
    # TER divides by the length of the reference, so that the shortest candidate has the fewest errors on average.
    for metric, chosen in (("vowels", "banana tree"), ("1*vowels", "banana tree"), ("1*ter", "banana")):
        assert run("rerank", "--metric", metric, input=line + "\n").strip() == chosen


def test_judged_beside_others(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    rows = [
        {
            "seg_id": 1,
            "src": "x",
            "ref": "banana tree",
            "sys": {"A": "banana tree", "B": "banana"},
            "scores": {"A": 90, "B": 40},
        },
        {
            "seg_id": 2,
            "src": "y",
            "ref": "sky",
            "sys": {"A": "sky", "B": "sky high"},
            "scores": {"A": 80, "B": 60},
        },
        {
            "seg_id": 3,
            "src": "z",
            "ref": "a dog",
            "sys": {"A": "a dog", "B": "dogs are ai"},
            "scores": {"A": 85, "B": 10},
        },
    ]
    (tmp_path / "judged_en-de.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = run("metaeval", "judged_en-de.jsonl", "--metric", "vowels", "1*ter", "--format", "json")
    found = {row["metric"]: row["tau_b"] for row in json.loads(out)[0]["rows"]}
    assert found == pytest.approx({"vowels": 12 / 180**0.5, "1*ter": 10 / 180**0.5})


@pytest.mark.parametrize(
    ("metric", "options", "score"),
    [("vowels", {}, 1.5), ("vowels", {"vowels": "y"}, 0.0), ("1*vowels", {}, 1.5), ("1*ter", {}, 66.6667)],
)
def test_served(served: str, metric: str, options: dict[str, str], score: float) -> None:
    request = {
        "cand": ["banana", "sky high"],
        "ref": [["banana tree", "sky"]],
        "metric": metric,
        "options": options,
    }
    found = post(served, request)
    assert found["score"] == pytest.approx(score, abs=1e-3)
    assert ("vowels" in found["signature"]) == ("vowels" in metric)


def test_a_sum_served_with_a_wrong_option(served: str) -> None:
    request = {"cand": ["a"], "ref": [["a"]], "metric": "1*vowels", "options": {"vovels": "y"}}
    with pytest.raises(urllib.error.HTTPError) as caught:
        post(served, request)
    assert "1*vowels has no option 'vovels'" in caught.value.read().decode()


def post(address: str, request: dict[str, object]) -> dict[str, Any]:
    body = json.dumps(request).encode()
    asked = urllib.request.Request(f"{address}/score", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{_ROOT / 'src'}"}
    command = [sys.executable, "-m", "prism_mt", "serve", "--port", str(port)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert str(port) in server.stdout.readline()
        # Nothing waits here: a server that tells its address can be asked.
        yield f"http://127.0.0.1:{port}"
        server.terminate()
