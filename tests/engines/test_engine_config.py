"""Engine options: mistakes, what `auto` means, and that the machine is asked before the cache."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from made import make_model

from prism_mt._core import environment
from prism_mt._core.cache import Store
from prism_mt._core.errors import PrismError
from prism_mt.engines import config as config_module
from prism_mt.engines import local
from prism_mt.engines.base import EngineName, Pair
from prism_mt.engines.cached import CachedEngine
from prism_mt.engines.config import EngineConfig, Precision, Task, resolve_engine
from prism_mt.engines.factory import open_cached_engine, open_engine
from prism_mt.engines.scheduler import score_pairs
from prism_mt.models.directory import ModelDirectory, write_model

CPU = EngineConfig(device="cpu", threads=1)
PAIRS = [Pair((4, 9, 2), (2, 5, 9, 2)), Pair((4, 10, 2), (2, 5, 9, 11, 2))]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ModelDirectory:
    return write_model(make_model(), tmp_path_factory.mktemp("config") / "made")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"engine": "torch", "precision": "float16"},
            "the torch engine computes in float32, bfloat16, int8 or int8_bfloat16, not in float16",
        ),
        ({"engine": "onnx"}, "engine must be one of auto, ct2, torch, not 'onnx'"),
        ({"precision": "int4"}, "precision must be one of auto, float32, int8"),
        ({"batch_tokens": 0}, "batch_tokens must be between 1 and"),
        ({"threads": 0}, "threads must be between 1 and 4,096, not 0"),
        ({"threads": 10**9}, "threads must be between 1 and 4,096"),
        ({"threads": 1.5}, "threads must be of type int, not 1.5"),
        ({"workers": 0}, "workers must be between 1 and 4,096, not 0"),
        ({"ray": "auto", "device": "mps"}, "with `ray=` the device is cpu, or cuda"),
        ({"device": "cuda"}, "no CUDA device"),
        ({"device": "cuda:0,1"}, "no CUDA device"),
        ({"engine": "ct2", "device": "mps"}, "the ct2 engine runs on cpu or cuda, not on mps"),
        ({"device": "cpu:x"}, "is not a device"),
        ({"engine": "torch", "device": "nonsense"}, "torch cannot use the device nonsense"),
        ({"precision": "int8_float16", "device": "cpu"}, "cannot compute in int8_float16"),
    ],
)
def test_mistakes(model: ModelDirectory, options: dict[str, Any], message: str) -> None:
    with pytest.raises(PrismError, match=message):
        open_engine(model, EngineConfig(**options))


@pytest.mark.parametrize("temperature", [0.0, float("nan"), 1e4])
def test_temperatures(model: ModelDirectory, temperature: float) -> None:
    with pytest.raises(PrismError, match="temperature must be between 0.001 and 1000"):
        open_engine(model, CPU, temperature)


@pytest.mark.parametrize(
    ("options", "task", "expected"),
    [
        ({}, "score", "ct2"),
        ({}, "beam", "ct2"),
        ({}, "search", "torch"),
        ({}, "rerank", "torch"),
        ({"precision": "int8"}, "rerank", "ct2"),
        ({"workers": 2}, "rerank", "ct2"),
        ({"precision": "bfloat16"}, "score", "torch"),
        ({"precision": "int8"}, "score", "ct2"),
        ({"precision": "int8_bfloat16"}, "score", "torch"),
        ({"precision": "bfloat16"}, "beam", "ct2"),
        ({"precision": "bfloat16", "ray": "auto"}, "score", "ct2"),
        ({"ray": "auto"}, "rerank", "ct2"),
        ({"device": "mps"}, "score", "torch"),
        ({"engine": "torch"}, "score", "torch"),
        ({"engine": "ct2"}, "rerank", "ct2"),
    ],
)
def test_what_auto_means(options: dict[str, Any], task: Task, expected: EngineName) -> None:
    assert resolve_engine(EngineConfig(**options), task).engine == expected


@pytest.mark.parametrize(
    ("options", "task", "bfloat16", "expected"),
    [
        ({}, "score", True, ("torch", "bfloat16")),
        ({}, "rerank", True, ("torch", "bfloat16")),
        ({}, "score", False, ("ct2", "float32")),
        ({"engine": "torch"}, "score", False, ("torch", "float32")),
        ({"engine": "ct2"}, "score", True, ("ct2", "float32")),
        ({"ray": "auto"}, "score", True, ("ct2", "float32")),
        ({"device": "mps"}, "score", True, ("torch", "float32")),
        ({"device": "cuda"}, "score", True, ("ct2", "float16")),
        ({"device": "cuda:1", "engine": "torch"}, "score", True, ("torch", "float32")),
        ({}, "beam", True, ("ct2", "float32")),
        ({}, "search", True, ("torch", "float32")),
    ],
)
def test_what_precision_auto_means(
    options: dict[str, Any], task: Task, bfloat16: bool, expected: tuple[str, str], monkeypatch: Any
) -> None:
    monkeypatch.setattr(config_module, "has_bfloat16", lambda: bfloat16)
    monkeypatch.setattr(config_module, "has_int8", lambda: False)
    found = resolve_engine(EngineConfig(**{"precision": "auto", "device": "cpu", **options}), task)
    assert (found.engine, found.precision) == expected


@pytest.mark.parametrize(
    ("bfloat16", "expected"), [(True, ("torch", "int8_bfloat16")), (False, ("ct2", "float32"))]
)
def test_precision_auto_on_a_processor_with_8_bit_products(
    bfloat16: bool, expected: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config_module, "has_bfloat16", lambda: bfloat16)
    monkeypatch.setattr(config_module, "has_int8", lambda: True)
    found = resolve_engine(EngineConfig(precision="auto", device="cpu"))
    assert (found.engine, found.precision) == expected


def test_without_torch_precision_auto_is_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_module, "find_spec", lambda name: None)
    monkeypatch.setattr(config_module, "has_bfloat16", lambda: True)
    found = resolve_engine(EngineConfig(precision="auto", device="cpu"))
    assert (found.engine, found.precision) == ("ct2", "float32")


def test_reranking_does_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_module, "find_spec", lambda name: None)
    assert resolve_engine(EngineConfig(), "rerank").engine == "ct2"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "ct2"}, "the ct2 engine only has beam search"),
        ({"precision": "int8"}, "only beam search can run in"),
    ],
)
def test_searches_that_ct2_lacks(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PrismError, match=message):
        resolve_engine(EngineConfig(**options), "search")


@pytest.fixture
def filled(model: ModelDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelDirectory:
    """A model with a cache that knows the scores of all pairs, for both engines."""
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path))
    for engine in ("ct2", "torch"):
        opened = open_cached_engine(model, replace(CPU, engine=engine))
        assert isinstance(opened, CachedEngine)
        list(score_pairs(opened, PAIRS))
        assert all(tokens is not None for tokens in opened.remembered(PAIRS))
    return model


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "cuda"}, "no CUDA device"),
        ({"engine": "torch", "device": "cuda"}, "torch cannot use the device cuda"),
        (
            {"ray": "127.0.0.1:1"},
            "cannot reach a Ray cluster" if find_spec("ray") else "needs an optional package",
        ),
    ],
)
def test_the_machine_is_asked_before_the_cache(
    filled: ModelDirectory, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(PrismError, match=message):
        open_cached_engine(filled, EngineConfig(**options))


def test_torch_must_be_there_even_if_the_cache_knows_all(
    filled: ModelDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    with pytest.raises(PrismError, match=r"pip install 'prism-mt\[train\]'"):
        open_cached_engine(filled, EngineConfig(engine="torch"))


def test_without_the_cache_nothing_is_kept(model: ModelDirectory, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path))
    engine = open_cached_engine(model, replace(CPU, cache=False))
    assert not isinstance(engine, CachedEngine)
    list(score_pairs(engine, PAIRS))
    assert not Store("scores").path.exists()


X86 = "processor\t: 0\nvendor_id\t: AuthenticAMD\nflags\t\t: fpu sse4_2 avx2"


@pytest.mark.parametrize(
    ("processor", "precision", "warned"),
    [
        (X86, "int8", True),
        (X86, "int8_float32", True),
        (X86, "float32", False),
        (f"{X86} avx512f avx512_vnni", "int8", False),
        (f"{X86} avx_vnni", "int8", False),
        ("processor\t: 0\nFeatures\t: fp asimd asimddp", "int8", False),
        ("", "int8", False),
    ],
)
def test_8_bits_without_vnni(
    processor: str, precision: Precision, warned: bool, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    local._warn_of_overflow.cache_clear()
    monkeypatch.setattr(environment, "_processor", lambda: processor)
    for _ in range(2):
        local.check_local(resolve_engine(EngineConfig(engine="ct2", precision=precision, device="cpu")))
    assert len(caplog.records) == warned
    assert not warned or f"{precision} overflows" in caplog.text
