"""`prism models`, with a real server for the download."""

import http.server
import json
import os
import re
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from fairseq_checkpoints import make_checkpoint
from made import make_model

from prism_mt.cli.main import main
from prism_mt.models import zoo
from prism_mt.models.directory import ModelDirectory, write_model
from prism_mt.models.fairseq import reader as fairseq
from prism_mt.models.zoo import KnownModel


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["models", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_list(capsys: Any, cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if find_spec("huggingface_hub"):
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    code, out, _ = run(capsys, "list", "--format", "json")
    assert code == 0
    rows = json.loads(out)["rows"]
    names = [row["name"] for row in rows]
    assert [row["name"] for row in rows if row["here"]] == ["mini"]
    if find_spec("huggingface_hub"):
        fetched = tmp_path / "models--alirezamsh--small100" / "snapshots" / "0123"
        fetched.mkdir(parents=True)
        (fetched / "pytorch_model.bin").touch()
        rows = json.loads(run(capsys, "list", "--format", "json")[1])["rows"]
        assert [row["name"] for row in rows if row["here"]] == ["mini", "small100"]
    assert rows[0]["from"] == "mini"
    # Without addresses, the list fits a terminal.
    lines = run(capsys, "list")[1].splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[-1] == "`prism models show NAME` tells where a model comes from"
    assert {"m39v1", "m2m100-418m", "nllb-600m", "mbart50", "mbart25", "small100"} <= set(names)


def test_show_digest_and_damage(capsys: Any, cache: Path, tmp_path: Path) -> None:
    model = write_model(make_model(), tmp_path / "made")
    code, out, _ = run(capsys, "show", str(model.folder))
    assert code == 0
    assert "2+2, pre-norm" in out
    assert run(capsys, "digest", str(model.folder))[1].strip() == model.digest
    path = model.folder / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    code, _, err = run(capsys, "digest", str(model.folder))
    assert code == 2
    assert "model.safetensors is damaged" in err


def test_convert_the_original_layout(capsys: Any, cache: Path, tmp_path: Path) -> None:
    folder = tmp_path / "original"
    make_checkpoint(folder)
    code, out, err = run(capsys, "convert", str(folder), str(tmp_path / "ours"), "--name", "mine")
    assert code == 0, err
    model = ModelDirectory(tmp_path / "ours")
    assert model.spec.name == "mine"
    assert model.spec.origin_digest == fairseq.digest(folder)
    assert model.digest[:12] in out
    assert run(capsys, "convert", str(tmp_path / "no"), str(tmp_path / "x"))[0] == 2


def test_convert_on_a_full_disk(capsys: Any, cache: Path, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    make_checkpoint(tmp_path / "original")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))  # fails as a full disk does
    try:
        code, _, err = run(capsys, "convert", str(tmp_path / "original"), str(tmp_path / "ours"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("prism: error: cannot write")
    assert sorted(path.name for path in tmp_path.iterdir() if path != cache) == ["original"]


class _Server(http.server.ThreadingHTTPServer):
    """Serves one file with ranges, and breaks off after `limit` bytes when told to."""

    body: bytes = b""
    limit: int | None = None
    ranges: list[str | None]


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.server.ranges.append(wanted)
        start = int(re.findall(r"\d+", wanted)[0]) if wanted else 0
        if start >= len(self.server.body):
            self.send_error(416)
            return
        rest = self.server.body[start:]
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest[: self.server.limit])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[_Server]:
    folder = tmp_path / "original"
    make_checkpoint(folder)
    archive = tmp_path / "m.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(folder, "m39v1")
    serving = _Server(("127.0.0.1", 0), _Handler)
    serving.body, serving.ranges = archive.read_bytes(), []
    thread = threading.Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    yield serving
    serving.shutdown()
    serving.server_close()


@pytest.fixture
def known(server: _Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    digest = f"md5:{fairseq.digest(tmp_path / 'original')}"
    address = f"http://127.0.0.1:{server.server_port}/m.tar"
    entry = KnownModel("made", "made in the test", "de en", "0M", "MIT", address, digest)
    monkeypatch.setattr(zoo, "CATALOG", (entry,))
    return address


def test_get_resumes_and_converts(capsys: Any, cache: Path, server: _Server, known: str) -> None:
    server.limit = 1000
    code, _, err = run(capsys, "get", "made", "--address", known)
    assert code == 2
    assert "goes on where it stopped" in err
    partial = cache / "models" / "made.tar.partial"
    assert partial.stat().st_size == 1000
    server.limit = None
    code, _, err = run(capsys, "get", "made", "--address", known)
    assert code == 0, err
    assert server.ranges == [None, "bytes=1000-"]
    assert ModelDirectory(cache / "models" / "made").spec.name == "made"
    assert os.listdir(cache / "models") == ["made"]


def test_get_refuses_another_content(
    capsys: Any, cache: Path, server: _Server, known: str, monkeypatch: Any
) -> None:
    wrong = zoo.CATALOG[0].__class__("made", "", "de", "", "", known, "md5:0000")
    monkeypatch.setattr(zoo, "CATALOG", (wrong,))
    code, _, err = run(capsys, "get", "made", "--address", known)
    assert code == 2
    assert "is not the catalog's made" in err
    assert os.listdir(cache / "models") == []


def test_get_without_a_network(capsys: Any, cache: Path) -> None:
    code, _, err = run(capsys, "get", "m39v1", "--address", "http://127.0.0.1:9/none.tar")
    assert code == 2
    assert "cannot download" in err
    assert run(capsys, "get", "nothing")[0] == 2


def test_an_unknown_command_of_a_group_is_an_error(capsys: Any) -> None:
    code, _, err = run(capsys, "nonsense")
    assert (code, err) == (2, "prism: error: prism models has no command 'nonsense' (see `prism models --help`)\n")


def test_show_of_what_is_not_here_fetches_nothing(
    capsys: Any, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if find_spec("huggingface_hub"):
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    rows = {
        row["what"]: row["value"]
        for row in json.loads(run(capsys, "show", "m39v1", "--format", "json")[1])["rows"]
    }
    assert rows["here"] == "no"
    assert rows["size"] == "about 3.0 GB in float32"
    assert rows["languages"].startswith("39: ar bg")
    assert rows["license"] == "MIT"
    assert rows["to get it"] == "prism models get m39v1"
    # The catalog knows models of the hub by both names.
    assert "CC-BY-NC-4.0" in run(capsys, "show", "hf:facebook/nllb-200-distilled-600M")[1]
    assert "prism models get hf:org/other" in run(capsys, "show", "hf:org/other")[1]


def test_get_from_the_hub(capsys: Any, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = write_model(make_model(), tmp_path / "made")
    asked = []

    def opened(name: str) -> ModelDirectory:
        asked.append(name)
        return model

    monkeypatch.setattr("prism_mt.cli.models.open_model", opened)
    code, out, _ = run(capsys, "get", "hf:org/name")
    assert (code, asked) == (0, ["hf:org/name"])
    assert out == f"hf:org/name: {model.folder} ({model.digest[:12]})\n"
    monkeypatch.undo()
    code, _, err = run(capsys, "get", "m39v")
    assert code == 2
    assert "no model 'm39v' in the catalog, and no hf:ORG/NAME; did you mean 'm39v1'?" in err


def test_fetch_from_a_hub(tmp_path: Path) -> None:
    """The whole way: what is fetched, what is said before and after, and that it is then there without a network."""
    pytest.importorskip("huggingface_hub", reason="needs the extra hf")
    pytest.importorskip("transformers", reason="the model is made with it")
    import hf_models
    from fake_hub import serving

    folder, _, _ = hf_models.make("small100", tmp_path / "tiny")
    (folder / "tf_model.h5").write_text("the same weights for another library")
    env = {**os.environ, "HF_HOME": str(tmp_path / "hub"), "PRISM_CACHE": str(tmp_path / "cache")}

    def prism(*words: str, text: str | None = None) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "prism_mt", *words],
            env=env,
            capture_output=True,
            text=True,
            input=text,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    with serving(folder) as hub:
        env["HF_ENDPOINT"] = hub.address
        assert "prism models get hf:org/tiny" in prism("models", "show", "hf:org/tiny")[1]
        assert hub.fetched == set()
        code, out, err = prism("models", "get", "hf:org/tiny")
        assert code == 0, err
        fetched = re.fullmatch(r"hf:org/tiny: \S+ \(([0-9a-f]{12})\)\n", out)
        assert fetched
        assert {"config.json", "model.safetensors"} <= hub.fetched
        assert "tf_model.h5" not in hub.fetched
        code, _, err = prism("models", "get", "hf:org/tinny")
        assert code == 2
        assert err == (
            "prism: error: cannot fetch hf:org/tinny: the hub has no model of that name, or only for those who have "
            "logged in\n"
        )
    assert prism("models", "digest", "hf:org/tiny", "--offline")[1].startswith(fetched[1])
    words = ("translate", "--model", "hf:org/tiny", "--to", "fr", "--offline", "--max-length", "5")
    code, out, err = prism(*words, text="Haus\n")
    assert (code, len(out.splitlines())) == (0, 1), err
    code, _, err = prism("translate", "--model", "hf:org/tinny", "--to", "fr", "--offline", text="Haus\n")
    assert code == 2
    assert "--offline: not fetching hf:org/tinny, which is not on this machine" in err


def test_a_misspelled_model(capsys: Any, cache: Path) -> None:
    assert main(["models", "show", "mni"]) == 2
    assert capsys.readouterr().err.rstrip().endswith("; did you mean 'mini'?")
