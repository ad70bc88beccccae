import argparse
import io
import os
import pickle
import random
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path, PosixPath
from typing import Any

import numpy as np
import pytest
import torch
from fairseq_checkpoints import stand_in, stand_ins

from prism_mt._core.errors import PrismError
from prism_mt.models.fairseq.pickles import Inert, load_torch


def saved(path: Path, value: object, legacy: bool = False) -> Any:
    with stand_ins():
        torch.save(value, path, _use_new_zipfile_serialization=not legacy)
    return load_torch(path)


def write_zip(path: Path, data: bytes, root: str = "archive", order: str = "little", **storages: bytes) -> None:
    """An archive as torch writes it, with any pickle; a storage's name is `s` and its key."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{root}/data.pkl", data)
        archive.writestr(f"{root}/byteorder", order)
        for key, content in storages.items():
            archive.writestr(f"{root}/data/{key[1:]}", content)


def refusal(path: Path) -> str:
    with pytest.raises(PrismError) as caught:
        load_torch(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize(
    "dtype",
    [
        *(torch.float64, torch.float32, torch.float16, torch.int64, torch.int32),
        *(torch.int16, torch.int8, torch.uint8, torch.bool),
    ],
)
def test_every_type(tmp_path: Path, legacy: bool, dtype: torch.dtype) -> None:
    tensor = (torch.arange(-6, 6).reshape(3, 4) * 3).to(dtype)
    read = saved(tmp_path / "x.pt", {"a": tensor, "empty": tensor[:0], "scalar": tensor[1, 1]}, legacy)
    assert read["a"].dtype == tensor.numpy().dtype
    assert np.array_equal(read["a"], tensor.numpy())
    assert read["empty"].shape == (0, 4)
    assert read["scalar"].shape == ()
    assert read["scalar"] == tensor[1, 1].numpy()


@pytest.mark.parametrize("legacy", [False, True])
def test_bfloat16_is_widened(tmp_path: Path, legacy: bool) -> None:
    tensor = torch.randn(5, 3).bfloat16()
    read = saved(tmp_path / "x.pt", tensor.T, legacy)
    assert read.dtype == np.float32
    assert np.array_equal(read, tensor.T.float().numpy())


@pytest.mark.parametrize("legacy", [False, True])
def test_views_share_their_storage(tmp_path: Path, legacy: bool) -> None:
    base = torch.arange(24.0).reshape(4, 6)
    views = [base, base.T, base[1:3, 2:5], base[:, ::2], base[2]]
    read = saved(tmp_path / "x.pt", views, legacy)
    for array, tensor in zip(read, views, strict=True):
        assert np.array_equal(array, tensor.numpy())
        assert np.shares_memory(array, read[0])
        assert not array.flags.writeable


@pytest.mark.parametrize("legacy", [False, True])
def test_what_checkpoints_hold_beside_tensors(tmp_path: Path, legacy: bool) -> None:
    meter = stand_in("fairseq.logging.meters.AverageMeter", val=1.5)
    value = {
        "args": argparse.Namespace(arch="transformer", lr=[0.1]),
        "best": np.float64(-2.5),
        "count": np.int32(7),
        "meter": meter,
        "path": PosixPath("/a/b"),
        "device": torch.device("cuda:0"),
        "dtype": torch.float16,
        "size": torch.Size([2, 3]),
        "ordered": OrderedDict(a=1),
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "plain": [None, True, (1, 2.5, "x", b"\xff"), {3}],
    }
    read = saved(tmp_path / "x.pt", value, legacy)
    assert isinstance(read["args"], Inert)
    assert read["args"].kind == "argparse.Namespace"
    assert read["args"].state == {"arch": "transformer", "lr": [0.1]}
    assert (read["best"], read["count"], read["size"]) == (-2.5, 7, (2, 3))
    assert (read["meter"].kind, read["meter"].state) == ("fairseq.logging.meters.AverageMeter", {"val": 1.5})
    assert read["path"].kind.endswith("PosixPath")
    assert read["path"].arguments == ("/", "a", "b")
    assert read["ordered"] == {"a": 1}
    assert np.array_equal(read["parameter"], [1, 1])
    assert read["plain"][:3] == [None, True, (1, 2.5, "x", b"\xff")]


class Named:
    """Pickled as a call of anything."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.call


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize(
    ("function", "name"),
    [
        (os.system, "posix.system"),
        (eval, ".eval"),
        (exec, ".exec"),
        (getattr, ".getattr"),
        (setattr, ".setattr"),
        (open, "io.open"),
        (__import__, ".__import__"),
        (pickle.loads, "pickle.loads"),
        (torch.load, "torch.serialization.load"),
        (np.load, ".load"),
        (np.frombuffer, "numpy"),
        (torch.nn.init.ones_, "torch.nn.init.ones_"),
    ],
)
def test_calls_outside_the_list_are_refused(
    tmp_path: Path, function: Callable[..., Any], name: str, legacy: bool, protocol: int
) -> None:
    path, mark = tmp_path / "x.pt", tmp_path / "mark"
    value = {"model": Named(function, f"touch {mark}")}
    torch.save(value, path, _use_new_zipfile_serialization=not legacy, pickle_protocol=protocol)
    message = refusal(path)
    assert message.startswith(f"{path} asks for ")
    assert name in message
    assert "not allowed in a checkpoint" in message
    assert not mark.exists()


def text(value: str) -> bytes:
    return b"\x8c" + bytes([len(value)]) + value.encode()


def named(module: str, name: str) -> bytes:
    return text(module) + text(name) + b"\x93"


SLOTS = b"N}" + text("kind") + text("changed") + b"s\x86b."  # BUILD with (None, {"kind": "changed"})
DOTTED = [
    ("argparse", "Namespace.__init__"),
    ("argparse", "Namespace.__class__.__base__"),
    ("collections", "OrderedDict.__reduce_ex__"),
    ("torch", "_utils._rebuild_tensor_v2"),
    ("fairseq", "utils.os.system"),
    ("fairseq.data", "Dictionary.__init__.__globals__"),
    ("torch._utils", "_rebuild_tensor_v2.__globals__"),
]


@pytest.mark.parametrize(("module", "name"), DOTTED)
def test_no_walk_through_attributes(tmp_path: Path, module: str, name: str) -> None:
    write_zip(tmp_path / "x.pt", b"\x80\x04" + named(module, name) + b".")
    assert f"asks for {module}.{name}, which is not allowed" in refusal(tmp_path / "x.pt")


@pytest.mark.parametrize(
    "data",
    [
        named("argparse", "Namespace") + SLOTS,
        named("collections", "OrderedDict") + SLOTS,
        named("torch._utils", "_rebuild_tensor_v2") + SLOTS,
        named("torch._utils", "_rebuild_tensor_v2") + b"}b.",
        named("argparse", "Namespace") + b"Na.",
        named("argparse", "Namespace") + text("k") + b"Ns.",
        named("argparse", "Namespace") + b")R)R.",  # calls the instance
        named("argparse", "Namespace") + b")\x81)\x81.",  # and as a class
        named("_codecs", "encode") + text("x") + text("zlib_codec") + b"\x86R.",
        named("numpy.core.multiarray", "scalar")
        + named("numpy", "dtype")
        + text("O8")
        + b"\x85R"
        + b"C\x01x\x86R.",
        b"Pmodule\n.",
        text("storage") + b"Q.",
        b"\x82\x01.",
        b"\x97.",
    ],
)
def test_pickles_that_try_more_are_refused(tmp_path: Path, data: bytes) -> None:
    write_zip(tmp_path / "x.pt", b"\x80\x05" + data)
    assert "damaged" in refusal(tmp_path / "x.pt")
    assert Inert.kind == ""
    assert not hasattr(argparse.Namespace, "kind")


def test_attributes_of_mappings_are_ignored(tmp_path: Path) -> None:
    write_zip(
        tmp_path / "x.pt", b"\x80\x04" + named("collections", "OrderedDict") + b")R}" + text("keys") + b"Nsb."
    )
    assert list(load_torch(tmp_path / "x.pt").keys()) == []


def tensor_pickle(
    offset: object, size: object, stride: object, count: object = 6, kind: str = "FloatStorage"
) -> bytes:
    """A pickle of one tensor over the storage 0, with arguments that torch would never write."""

    class Storage:
        pass

    class Pickler(pickle.Pickler):
        def persistent_id(self, value: object) -> object:
            if isinstance(value, Storage):
                return ("storage", getattr(torch, kind), "0", "cpu", count)
            return None

    target = io.BytesIO()
    rebuild = torch._utils._rebuild_tensor_v2
    Pickler(target, 2).dump(Named(rebuild, Storage(), offset, size, stride, False, OrderedDict()))
    return target.getvalue()


NUMBERS = np.arange(6, dtype="<f4")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, (7,), (1,)), "reaches beyond its storage"),
        ((1, (6,), (1,)), "reaches beyond its storage"),
        ((0, (2, 3), (10**6, 1)), "reaches beyond its storage"),
        ((0, (2**62, 4), (1, 1)), "reaches beyond its storage"),
        ((0, (10**12,), (0,)), "more elements than its storage"),
        ((-1, (2,), (1,)), "-1 is not a whole number"),
        ((0, (2,), (-1,)), "-1 is not a whole number"),
        ((0, (-2, -2), (1, 1)), "-2 is not a whole number"),
        ((0, (2.0,), (1,)), "2.0 is not a whole number"),
        ((0, (True,), (1,)), "True is not a whole number"),
        ((0, (2,), (1, 1)), "differ in length"),
        ((0, 3, 1), "damaged"),
        ((0, (0, 2**80), (1, 1)), "damaged"),
        ((0, (6,), (1,), 7), "too few for 7 numbers"),
        ((0, (6,), (1,), -1), "-1 is not a whole number"),
        ((0, (6,), (1,), 2**70), "too few for"),
        ((0, (6,), (1,), 6, "DoubleStorage"), "too few for 6 numbers"),
        ((0, (1,), (1,), 1, "ComplexFloatStorage"), "ComplexFloatStorage"),
    ],
)
def test_tensors_outside_their_storage_are_refused(
    tmp_path: Path, arguments: tuple[Any, ...], message: str
) -> None:
    write_zip(tmp_path / "x.pt", tensor_pickle(*arguments), s0=NUMBERS.tobytes())
    assert message in refusal(tmp_path / "x.pt")


@pytest.mark.parametrize(
    ("offset", "size", "stride", "expected"),
    [
        (0, (6,), (1,), [0, 1, 2, 3, 4, 5]),
        (1, (2, 2), (3, 1), [[1, 2], [4, 5]]),
        (5, (1, 1), (10**6, 1), [[5]]),
        (9, (0,), (1,), []),
        (2, (), (), 2),
    ],
)
def test_sizes_and_strides(tmp_path: Path, offset: int, size: Any, stride: Any, expected: Any) -> None:
    write_zip(tmp_path / "x.pt", tensor_pickle(offset, size, stride), "any name", s0=NUMBERS.tobytes())
    assert np.array_equal(load_torch(tmp_path / "x.pt"), expected)


def test_big_endian(tmp_path: Path) -> None:
    write_zip(tmp_path / "x.pt", tensor_pickle(0, (2, 3), (3, 1)), order="big", s0=NUMBERS.astype(">f4").tobytes())
    read = load_torch(tmp_path / "x.pt")
    assert read.dtype == np.float32
    assert read.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_incomplete_archives(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    write_zip(path, tensor_pickle(0, (6,), (1,)))
    assert refusal(path) == f"{path} is damaged: storage 0 is missing"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/other", b"")
    assert "has no data.pkl" in refusal(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({}))
    assert "compressed" in refusal(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"hello\n", pickle.dumps({"model": {}}), b"\x80\x02"])
def test_other_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.pt"
    path.write_bytes(content)
    assert str(path) in refusal(path)


def test_missing_file(tmp_path: Path) -> None:
    assert refusal(tmp_path / "x.pt") == f"cannot read {tmp_path / 'x.pt'}: No such file or directory"


@pytest.mark.parametrize("legacy", [False, True])
def test_damage_never_ends_in_another_exception(tmp_path: Path, legacy: bool) -> None:
    path = tmp_path / "x.pt"
    value = {"args": argparse.Namespace(a=1), "model": OrderedDict(a=torch.arange(4.0), b=torch.ones(2, 2).half())}
    saved(path, value, legacy)
    content = path.read_bytes()
    generator = random.Random(0)
    failures = 0
    for _ in range(400):
        damaged = bytearray(content)
        if generator.random() < 0.3:
            del damaged[generator.randrange(len(damaged)) :]
        else:
            for _ in range(generator.randint(1, 4)):
                damaged[generator.randrange(len(damaged))] = generator.randrange(256)
        path.write_bytes(damaged)
        try:
            load_torch(path)
        except PrismError:
            failures += 1
    assert failures > 100
