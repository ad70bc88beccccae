"""`prism bench`: how fast is this machine, and what does a smaller number format cost in accuracy?"""

import logging
import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.arguments import Command
from prism_mt._core.environment import available_cores, has_bfloat16, has_int8, is_amd
from prism_mt._core.options import Config, option
from prism_mt._core.progress import counter
from prism_mt.cli.output import terminal_width
from prism_mt.engines.base import Pair
from prism_mt.engines.config import resolve_engine
from prism_mt.engines.factory import EngineConfig, Precision, open_engine
from prism_mt.engines.scheduler import score_pairs
from prism_mt.models.directory import ModelDirectory
from prism_mt.models.resolve import DEFAULT_MODEL, open_model
from prism_mt.report.table import Column, Format, Table, keyed, number, render

_LOG = logging.getLogger("prism_mt")
_FORMATS: tuple[Precision, ...] = ("float32", "int8", "float16", "bfloat16", "int8_float16")


@dataclass(frozen=True, kw_only=True)
class BenchOptions(Config):
    """Options of `prism bench`."""

    model: str = option(
        "model: a folder, hf:ORG/NAME, or a name from `prism models list`", DEFAULT_MODEL, metavar="M"
    )
    segments: int = option(
        "number of texts to score with every setting", 256, flags=("-n",), metavar="N", low=1, high=10_000_000
    )
    pieces: int = option(
        "mean length of a text in pieces of the model's vocabulary", 25, metavar="N", low=1, high=100_000
    )
    format: Format = option("format of the table", "text")


class _Measured(NamedTuple):
    engine: str
    dtype: str
    load: float
    seconds: float
    scores: NDArray[np.float64]


def run(options: BenchOptions, engine: EngineConfig) -> None:
    """Score the same made-up texts with every engine and number format of this machine."""
    if os.environ.get("CT2_USE_MKL") == "1" and is_amd():
        _LOG.warning("CT2_USE_MKL=1 makes the ct2 engine several times slower on this AMD processor: unset it")
    model = open_model(options.model, engine.offline)
    pairs = made_up_pairs(model, options.segments, options.pieces)
    settings = list(_settings(engine))
    with counter("measuring", len(settings)) as advance:
        measured = []
        for setting in settings:
            measured.append(_measure(model, setting, pairs))
            advance()
    print(render(_table(measured, len(pairs), options, engine), options.format, terminal_width()), end="")


def made_up_pairs(model: ModelDirectory, count: int, pieces: int) -> list[Pair]:
    """Random pieces in texts whose lengths vary like those of sentences; always the same for one model."""
    chance = random.Random(1)
    spec = model.spec
    size = min(spec.architecture.source_vocabulary, spec.architecture.target_vocabulary)
    longest = spec.architecture.max_positions - 4
    tag = spec.languages[min(spec.languages)]

    def text() -> list[int]:
        length = round(chance.lognormvariate(0, 0.5) * pieces * 0.88)  # a mean of `pieces`
        # The first tenth of a vocabulary contains its special pieces.
        return [chance.randrange(size // 10, size) for _ in range(min(longest, max(1, length)))]

    encode = spec.conventions
    return [Pair(encode.encode_source(text(), tag, tag), encode.encode_target(text(), tag)) for _ in range(count)]


def _settings(config: EngineConfig) -> Iterator[EngineConfig]:
    """What can run here: the number formats of CTranslate2 that the device has, and torch where it is installed.

    Formats that the processor lacks are left out, though torch would emulate them.
    """
    if config.device != "mps":
        import ctranslate2

        from prism_mt.engines.ct2 import resolve_device

        device = resolve_device(config.device.partition(":")[0])
        for dtype in _FORMATS:
            if dtype in ctranslate2.get_supported_compute_types(device):
                yield replace(config, engine="ct2", precision=dtype)
    if find_spec("torch"):
        yield replace(config, engine="torch", precision="float32")
        for dtype in _torch_formats() if config.device in ("auto", "cpu") else ():
            yield replace(config, engine="torch", precision=dtype)


def _torch_formats() -> Iterator[Precision]:
    """Number formats other than float32 that the processor has."""
    if has_int8():
        yield "int8"
    if has_bfloat16():
        yield "bfloat16"
    if has_int8() and has_bfloat16():
        yield "int8_bfloat16"


def _measure(model: ModelDirectory, setting: EngineConfig, pairs: list[Pair]) -> _Measured:
    start = time.perf_counter()
    engine = open_engine(model, setting)
    loaded = time.perf_counter()
    for _ in score_pairs(engine, pairs[:16]):  # warm up memory and threads
        pass
    warm = time.perf_counter()
    scores = np.array([tokens.mean() for tokens in score_pairs(engine, pairs)], dtype=np.float64)
    return _Measured(engine.name, engine.dtype, loaded - start, time.perf_counter() - warm, scores)


def _table(measured: list[_Measured], segments: int, options: BenchOptions, engine: EngineConfig) -> Table:
    first = measured[0]
    choice = resolve_engine(replace(engine, precision="auto"))
    rows = tuple(
        (
            one.engine,
            one.dtype,
            one.load,
            segments / one.seconds,
            first.seconds / one.seconds,
            float(np.abs(one.scores - first.scores).mean()),
        )
        for one in measured
    )
    columns = (
        Column("engine"),
        Column("numbers"),
        number("load s", 2),
        number("texts/s", 1),
        number("× first", 2),
        number("mean error", 5),
    )
    notes = (
        f"{segments:,} texts of {options.pieces} pieces on average, each given another, in one direction; "
        f"{engine.threads or available_cores()} threads, device {engine.device}",
        "load: the first time with a number format, the model is converted",
        "mean error: of the mean log-probability per token, against the first row",
        f"--precision auto takes {choice.precision} with the {choice.engine} engine here, and says so in signatures",
    )
    return Table(keyed(columns), rows, notes=notes)


COMMAND = Command(
    "bench",
    "Measure how fast this machine scores with every engine and precision it has.",
    (BenchOptions, EngineConfig),
    run,
)
