"""Folders of learned metrics that are not to be trusted."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
hub: Any = pytest.importorskip("huggingface_hub", reason="needs the extra hf")

from tiny_bert import make_bert  # noqa: E402

from prism_mt._core.errors import PrismError  # noqa: E402
from prism_mt.encoders.factory import ALL_LAYERS, open_piece_encoder  # noqa: E402
from prism_mt.metrics.base import Languages  # noqa: E402
from prism_mt.metrics.learned import WEIGHTS, Learned, MetricSpec, write_metric  # noqa: E402
from prism_mt.metrics.learned_network import network_shapes  # noqa: E402
from prism_mt.metrics.runtime import Runtime  # noqa: E402
from prism_mt.models.directory import ModelDirectory  # noqa: E402


def no_model() -> ModelDirectory:
    raise AssertionError("no model is wanted")


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MetricSpec:
    """A metric over the encoder in the folder `bert`."""
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    make_bert(tmp_path / "bert")
    encoder = open_piece_encoder(str(tmp_path / "bert"), "en", no_model, config=ALL_LAYERS)
    return MetricSpec("esim", str(tmp_path / "bert"), encoder.digest, "en", encoder.layers, encoder.width, 4, 20)


def write(folder: Path, spec: MetricSpec) -> Path:
    shapes = network_shapes(spec.kind, spec.layers, spec.width, spec.hidden)
    write_metric(folder, spec, {name: np.full(shape, 0.1, np.float32) for name, shape in shapes.items()})
    return folder


def opened(folder: Path, encoder: str = "") -> object:
    return Learned(folder=folder, encoder=encoder).open(Runtime(), Languages("en"))


def test_the_hub_is_asked_only_for_an_encoder_that_the_user_named(
    spec: MetricSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, bool]] = []

    def snapshot(name: str, allow_patterns: list[str], local_files_only: bool) -> str:
        calls.append((name, local_files_only))
        return str(tmp_path / "bert")

    monkeypatch.setattr(hub, "snapshot_download", snapshot)
    folder = write(tmp_path / "metric", replace(spec, encoder="hf:org/bert"))
    for named in ("", "hf:org/other"):
        with pytest.raises(
            PrismError, match="needs the encoder hf:org/bert, which is not on this machine: to fetch"
        ):
            opened(folder, named)
    assert calls == []
    assert opened(folder, "hf:org/bert")
    assert calls == [("org/bert", False)]
    # What has been fetched before is used, without asking the hub again.
    weights = tmp_path / "hub" / "models--org--bert" / "snapshots" / "0" / "model.safetensors"
    weights.parent.mkdir(parents=True)
    weights.touch()
    assert opened(folder)
    assert calls[1:] == [("org/bert", True)]


def test_digests_are_checked_before_the_encoder_is_read(
    spec: MetricSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: object) -> None:
        raise AssertionError("the encoder is not to be read")

    for module in ("bert.read_bert", "pretrained.load_pretrained"):
        monkeypatch.setattr(f"prism_mt.encoders.{module}", read)
    folder = write(tmp_path / "metric", replace(spec, encoder_digest="0" * 64))
    with pytest.raises(PrismError, match="is not the one that the metric was trained with"):
        opened(folder)
    (folder / WEIGHTS).write_bytes(b"other weights")
    with pytest.raises(PrismError, match="its sha256 is not the one in metric.json"):
        opened(folder)


def test_an_encoder_with_code_is_refused(spec: MetricSpec, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    (tmp_path / "bert" / "evil.py").write_text(f"open({str(mark)!r}, 'w')", "utf-8")
    config = tmp_path / "bert" / "config.json"
    table = {**json.loads(config.read_text()), "model_type": "evil", "auto_map": {"AutoConfig": "evil.Evil"}}
    config.write_text(json.dumps(table), "utf-8")
    with pytest.raises(PrismError, match="wants to run its own Python code"):
        opened(write(tmp_path / "metric", spec))
    assert not mark.exists()
