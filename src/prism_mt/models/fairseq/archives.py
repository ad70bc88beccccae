"""Locate the pickle and the storages in a torch.save file: the zip format, and the legacy format before torch 1.6."""

import io
import mmap
import struct
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError

Scan = Callable[[IO[bytes], Path], tuple[Any, dict[str, tuple[np.dtype[Any], int]]]]
"""Reads one pickle of a file and returns its value, and the type and length of every storage it refers to."""

_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_LEGACY_PROTOCOL = 1001
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")


@dataclass(frozen=True)
class Archive:
    """A mapped file, with the position of its pickle and of every storage, each as (start, bytes)."""

    path: Path
    memory: mmap.mmap
    pickle_span: tuple[int, int]
    storage_spans: Mapping[str, tuple[int, int]]
    little_endian: bool

    def pickle(self) -> IO[bytes]:
        """The pickle, which holds everything but the tensors' numbers."""
        start, size = self.pickle_span
        return io.BytesIO(self.memory[start : start + size])

    def numbers(self, key: str, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
        """A storage as a flat view of the mapped file."""
        if key not in self.storage_spans:
            raise PrismError(f"{self.path} is damaged: storage {key} is missing")
        start, size = self.storage_spans[key]
        if count * dtype.itemsize > size:
            raise PrismError(
                f"{self.path} is damaged: storage {key} has {size:,} bytes, too few for {count:,} numbers"
            )
        ordered = dtype.newbyteorder("<" if self.little_endian else ">")
        return np.frombuffer(self.memory, ordered, count, start) if count else np.empty(0, dtype)


def open_archive(path: Path, scan: Scan) -> Archive:
    """Map a file and find its parts; `scan` is needed for legacy files, where only the pickle says how long it is."""
    try:
        with open(path, "rb") as file:
            memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            if memory[:4] == b"PK\x03\x04":
                return _open_zip(path, file, memory)
            return _open_legacy(path, file, memory, scan)
    except PrismError:
        raise
    except OSError as error:
        raise PrismError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:  # an empty file cannot be mapped
        raise PrismError(f"{path} is damaged: {error}") from error


def _open_zip(path: Path, file: IO[bytes], memory: mmap.mmap) -> Archive:
    try:
        entries = {entry.filename: entry for entry in zipfile.ZipFile(file).infolist()}
    except (zipfile.BadZipFile, NotImplementedError, struct.error) as error:
        raise PrismError(f"{path} is damaged or was not downloaded completely: {error}") from error
    roots = [
        name.removesuffix("data.pkl") for name in entries if name.count("/") == 1 and name.endswith("/data.pkl")
    ]
    if len(roots) != 1:
        raise PrismError(f"{path} is not a checkpoint that torch saved: it has no data.pkl")
    spans = {
        name.removeprefix(roots[0]): _span(path, memory, entry)
        for name, entry in entries.items()
        if name.startswith((roots[0] + "data/", roots[0] + "data.pkl", roots[0] + "byteorder"))
    }
    order, length = spans.get("byteorder", (0, 0))
    storages = {name.removeprefix("data/"): span for name, span in spans.items() if name.startswith("data/")}
    return Archive(path, memory, spans["data.pkl"], storages, memory[order : order + length] != b"big")


def _span(path: Path, memory: mmap.mmap, entry: zipfile.ZipInfo) -> tuple[int, int]:
    """Start and size of an entry. Checksums are not verified: torch can be told not to write them."""
    begin = entry.header_offset
    header = memory[begin : begin + _LOCAL_HEADER.size]
    if len(header) < _LOCAL_HEADER.size or header[:4] != b"PK\x03\x04":
        raise PrismError(f"{path} is damaged: {entry.filename} is not where the archive says")
    if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
        raise PrismError(
            f"{path} is not a checkpoint that torch saved: {entry.filename} is compressed or encrypted"
        )
    *_, name_length, extra_length = _LOCAL_HEADER.unpack(header)
    start = begin + _LOCAL_HEADER.size + name_length + extra_length
    if start + entry.file_size > len(memory):
        raise PrismError(f"{path} is damaged: {entry.filename} reaches beyond the end of the file")
    return start, entry.file_size


def _open_legacy(path: Path, file: IO[bytes], memory: mmap.mmap, scan: Scan) -> Archive:
    magic, _ = scan(file, path)
    if magic != _LEGACY_MAGIC:
        raise PrismError(f"{path} is not a checkpoint that torch saved")
    protocol, _ = scan(file, path)
    if protocol != _LEGACY_PROTOCOL:
        raise PrismError(f"{path} has the unknown format {protocol}: save it again with a current torch")
    system, _ = scan(file, path)
    little = not isinstance(system, dict) or bool(system.get("little_endian", True))
    start = file.tell()
    _, storages = scan(file, path)
    end = file.tell()
    keys, _ = scan(file, path)
    spans: dict[str, tuple[int, int]] = {}
    position = file.tell()
    for key in keys if isinstance(keys, list) else []:
        if key not in storages:
            raise PrismError(f"{path} is damaged: storage {key} belongs to nothing")
        dtype, count = storages[key]
        # Every storage is preceded by its number of elements.
        stored = int.from_bytes(memory[position : position + 8], "little" if little else "big")
        size = count * dtype.itemsize
        if stored != count or position + 8 + size > len(memory):
            raise PrismError(f"{path} is damaged or was not downloaded completely: storage {key} is cut off")
        spans[key] = (position + 8, size)
        position += 8 + size
    return Archive(path, memory, (start, end - start), spans, little)
