"""Pickles that cost more than their bytes are refused before they are read."""

import io
import pickle
import pickletools
import struct
import zipfile
from collections import OrderedDict
from pathlib import Path

import pytest

from prism_mt._core.errors import PrismError
from prism_mt.models.fairseq import opcodes
from prism_mt.models.fairseq.opcodes import Hostile, check_pickle
from prism_mt.models.fairseq.pickles import load_torch

PROTOCOL, DICT, TUPLE, SET_ITEM, END = b"\x80\x02", b"}", b")", b"s", b"."
HOSTILE = {
    "nested tuples": (PROTOCOL + DICT + b"U\x05model" + TUPLE + b"\x85" * 2_000_000 + SET_ITEM + END, "nested"),
    "doubled tuples": (PROTOCOL + DICT + TUPLE + b"2\x86" * 60 + b"K\x01" + SET_ITEM + END, "parts"),
    "tuple as key": (PROTOCOL + DICT + b"K\x01\x85K\x01" + SET_ITEM + END, "key"),
    "tuple in a set": (b"\x80\x04\x8f(K\x01\x85\x90.", "key"),
    "tuple in a frozen set": (b"\x80\x04(K\x01\x85\x91.", "key"),
    "memo index": (PROTOCOL + DICT + b"r" + struct.pack("<I", 2**28) + END, "numbers a value 268435456"),
    "memo index as text": (PROTOCOL + DICT + b"p268435456\n" + END, "numbers a value 268435456"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles_are_refused(tmp_path: Path, name: str) -> None:
    data, message = HOSTILE[name]
    with zipfile.ZipFile(tmp_path / "x.pt", "w") as archive:
        archive.writestr("archive/data.pkl", data)
    with pytest.raises(PrismError, match=message):
        load_torch(tmp_path / "x.pt")


@pytest.mark.parametrize("protocol", range(6))
def test_usual_values_pass(protocol: int) -> None:
    usual = {
        "model": OrderedDict((f"layers.{index}.weight", (index, [1.5] * 3)) for index in range(3000)),
        "optimizer": {0: {"step": 1, "betas": (0.9, 0.98)}, 1: {}},
        "names": {"a", "b"},
        "flags": [True, None, b"x", "é"],
    }
    file = io.BytesIO(pickle.dumps(usual, protocol) + pickle.dumps("next", protocol))
    check_pickle(file)
    assert file.tell() == 0
    assert pickle.load(file) == usual
    check_pickle(file)
    assert pickle.load(file) == "next"


def test_every_instruction_is_known() -> None:
    """An empty stack, as rubbish has it, is no reason to fail here: the unpickler says what is wrong."""
    for opcode in pickletools.opcodes:
        if opcode.arg is None:
            file = io.BytesIO(opcode.code.encode("latin1") + END)
            check_pickle(file)
            assert file.tell() == 0, opcode.name


def test_too_many_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opcodes, "_INSTRUCTIONS", 1000)
    check_pickle(io.BytesIO(b"N0" * 400 + b"N" + END))
    with pytest.raises(Hostile, match="more than 1,000 instructions"):
        check_pickle(io.BytesIO(b"N0" * 600 + END))
