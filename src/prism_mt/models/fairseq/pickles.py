"""Read torch.save files without torch and without running anything they contain.

A pickle is a small program that may call whatever it can name. Here it can name only a fixed list of things, and
all of them are ours: functions that build numpy views of the file, and inert stand-ins that keep what they are given.
"""

import math
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, ClassVar, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.models.fairseq.archives import Archive, open_archive
from prism_mt.models.fairseq.opcodes import check_pickle

_STORAGES = {
    "FloatStorage": "f4",
    "DoubleStorage": "f8",
    "HalfStorage": "f2",
    "BFloat16Storage": "u2",  # numpy has no bfloat16: the bits are widened to float32 when a tensor is built
    "LongStorage": "i8",
    "IntStorage": "i4",
    "ShortStorage": "i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
}
_SCALARS = ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "b1")
_TORCH_TYPES = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool double float half long int"
_TYPING = "Any Dict List Optional Set Tuple Type Union"
_BUILTIN_TYPES = "dict list tuple set frozenset int long float complex bool str unicode bytes bytearray object"
_INERT = {
    "argparse.Namespace",
    "collections.defaultdict",
    "collections.Counter",
    "operator.getitem",  # how Python pickles List[int]
    "_operator.getitem",
    "numpy.dtype",
    "torch.device",
    *(f"pathlib{module}.{name}" for module in ("", "._local") for name in ("PosixPath", "WindowsPath", "Path")),
    *(f"typing.{name}" for name in _TYPING.split()),
    *(f"torch.{name}" for name in _TORCH_TYPES.split()),
    *(f"torch{module}.{name}" for module in ("", ".cuda") for name in _STORAGES),
    *(f"{module}.{name}" for module in ("builtins", "__builtin__") for name in _BUILTIN_TYPES.split()),
}
_INERT_PACKAGES = ("fairseq.", "omegaconf.")


class Inert:
    """Stands for an object that a checkpoint may name but that must not act: it just keeps its arguments.

    `kind` is the name in the checkpoint, `arguments` went to the constructor, `state` is the rest.
    """

    # The unpickler sets attributes of anything without __setstate__, so everything that it can hold has one or
    # is immutable. Called on the class itself, __setstate__ lacks an argument and the pickle is refused.
    __slots__ = ("arguments", "state")
    kind: ClassVar[str] = ""
    arguments: tuple[Any, ...]
    state: Any

    def __new__(cls, *arguments: Any, **_: Any) -> "Inert":
        """Accept anything: a pickle may skip the constructor, but not this."""
        made = super().__new__(cls)
        made.arguments = arguments
        made.state = None
        return made

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def __setitem__(self, key: Any, value: Any) -> None: ...

    def append(self, item: Any) -> None:
        """Ignore the call: the content of lists, sets and dictionaries of unknown classes is not needed."""

    extend = add = append


class _Items(dict[Any, Any]):
    """An OrderedDict whose attributes (torch's `_metadata`) are ignored."""

    def __setstate__(self, state: Any) -> None: ...


class _Function:
    """A function that a pickle may call but not change."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def __call__(self, *arguments: Any) -> Any:
        return self._call(*arguments)

    def __setstate__(self, state: Any) -> None:
        raise pickle.UnpicklingError("a function has no state")


class _Storage(NamedTuple):
    """A flat run of numbers in the file; `data` is None while only the layout is being read."""

    data: NDArray[Any] | None
    bfloat16: bool


def load_torch(path: Path) -> Any:
    """Load the object in a torch.save file (zip or legacy), with tensors as read-only numpy views of the mapped file.

    Nothing is read from disk before it is used. Instances of classes appear in the result as `Inert`.
    """
    archive = open_archive(path, _scan)
    unpickler = _Unpickler(archive.pickle(), path, archive)
    return _run(unpickler, path)


class _Unpickler(pickle.Unpickler):
    """Knows only the allowed names. Without an archive it lists the storages and builds no tensor."""

    def __init__(self, file: IO[bytes], path: Path, archive: Archive | None) -> None:
        super().__init__(file, encoding="utf-8")
        self._file = file
        self._path = path
        self._archive = archive
        self._made: dict[str, Any] = {}
        self.storages: dict[str, tuple[np.dtype[Any], int]] = {}

    def load(self) -> Any:
        """The value, after a look at the instructions that make it."""
        check_pickle(self._file)
        return super().load()

    def find_class(self, module: str, name: str) -> Any:
        asked = f"{module}.{name}"
        # A dotted name ("Outer.Inner") is a walk through attributes: no real checkpoint needs one.
        if "." in name:
            raise self._refusal(asked)
        if asked not in self._made:
            self._made[asked] = self._allowed(asked)
        return self._made[asked]

    def _allowed(self, asked: str) -> Any:
        if asked == "collections.OrderedDict":
            return _Items
        if asked in _FUNCTIONS:
            return _Function(_FUNCTIONS[asked])
        if asked in _INERT or asked.startswith(_INERT_PACKAGES):
            return type("Inert", (Inert,), {"__slots__": (), "kind": asked})
        raise self._refusal(asked)

    def _refusal(self, asked: str) -> PrismError:
        return PrismError(
            f"{self._path} asks for {asked}, which is not allowed in a checkpoint: do not trust this file"
        )

    def persistent_load(self, pid: Any) -> _Storage:
        tag, kind, key, _location, count, *view = pid
        if tag != "storage" or not isinstance(key, str):
            raise pickle.UnpicklingError(f"unknown reference {tag!r}")
        name = kind.kind.rpartition(".")[2]
        dtype = np.dtype(_STORAGES[name])
        _whole(count)
        self.storages.setdefault(key, (dtype, count))
        if self._archive is None:
            return _Storage(None, False)
        data = self._archive.numbers(key, dtype, count)
        if view and view[0] is not None:
            _view_key, start, length = view[0]
            if _whole(start) + _whole(length) > count:
                raise pickle.UnpicklingError("a view is larger than its storage")
            data = data[start : start + length]
        return _Storage(data, name == "BFloat16Storage")


def _scan(file: IO[bytes], path: Path) -> tuple[Any, dict[str, tuple[np.dtype[Any], int]]]:
    """Read one pickle from a legacy file without its tensors, and the type and length of every storage it refers to."""
    unpickler = _Unpickler(file, path, None)
    value = _run(unpickler, path)
    return value, unpickler.storages


def _run(unpickler: pickle.Unpickler, path: Path) -> Any:
    try:
        return unpickler.load()
    except PrismError:
        raise
    except Exception as error:  # a damaged pickle can raise nearly any exception
        detail = " ".join(str(error).split()) or type(error).__name__
        raise PrismError(f"{path} is damaged, or not a checkpoint that torch saved: {detail}") from error


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise pickle.UnpicklingError(f"{value!r} is not a whole number")
    return value


def _tensor(storage: Any, offset: Any, size: Any, stride: Any, *_: Any) -> NDArray[Any] | None:
    """A view of a storage, after checking its bounds: a wrong one would read foreign memory."""
    if not isinstance(storage, _Storage):
        raise pickle.UnpicklingError("a tensor without a storage")
    if storage.data is None:
        return None
    if len(size) != len(stride):
        raise pickle.UnpicklingError("a tensor whose size and stride differ in length")
    shape, steps = tuple(map(_whole, size)), tuple(map(_whole, stride))
    last = _whole(offset) + sum((length - 1) * step for length, step in zip(shape, steps, strict=True))
    if math.prod(shape) and last >= len(storage.data):
        raise pickle.UnpicklingError(f"a tensor of size {shape} reaches beyond its storage")
    # Strides of 0 could make a gigantic tensor from one number.
    if math.prod(shape) > len(storage.data):
        raise pickle.UnpicklingError(f"a tensor of size {shape} has more elements than its storage")
    start = storage.data[offset:]
    array = as_strided(start, shape, [step * start.itemsize for step in steps], writeable=False)
    if storage.bfloat16:
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _parameter(data: Any, *_: Any) -> Any:
    return data


def _scalar(dtype: Any, data: Any) -> Any:
    """Convert a numpy number to a Python one; its dtype is an inert ('f8', …) with the byte order in its state."""
    code = dtype.arguments[0]
    if dtype.kind != "numpy.dtype" or code not in _SCALARS:
        raise pickle.UnpicklingError(f"a numpy number of type {code!r}")
    order = ">" if dtype.state is not None and dtype.state[1] == ">" else "<"
    return np.frombuffer(data, np.dtype(order + code), 1)[0].item()


def _latin(text: Any, encoding: Any) -> bytes:
    """Decode bytes as Python writes them into old pickles."""
    if type(text) is not str or encoding != "latin1":
        raise pickle.UnpicklingError(f"bytes in the encoding {encoding!r}")
    return text.encode("latin1")


def _size(items: Any) -> tuple[int, ...]:
    return tuple(map(_whole, items))


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_parameter": _parameter,
    "torch.Size": _size,
    "numpy.core.multiarray.scalar": _scalar,
    "numpy._core.multiarray.scalar": _scalar,
    "_codecs.encode": _latin,
}
