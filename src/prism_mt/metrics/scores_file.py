"""Scores as files: a zip of NumPy arrays and one JSON header."""

import dataclasses
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt._core.files import write_atomically
from prism_mt.metrics.base import ErrorSpan, Languages, TokenTrace
from prism_mt.metrics.registry import make_metric
from prism_mt.metrics.scores import Matrix, MetricScores, Spans

_FORMAT = 1


def write_scores(path: Path, metrics: Sequence[MetricScores], languages: Languages) -> None:
    """Write everything but the texts; the file appears complete or not at all."""
    header: list[dict[str, Any]] = []
    with write_atomically(path, "wb") as handle, zipfile.ZipFile(handle, "w") as archive:
        for number, scores in enumerate(metrics):
            header.append(_header(scores))
            _write_array(archive, f"{number}.segments.npy", scores.segments)
            _write_array(archive, f"{number}.systems.npy", scores.system_scores)
            for row, rows in enumerate(scores.statistics or ()):
                _write_array(archive, f"{number}.statistics.{row}.npy", rows)
        content = {
            "prism_scores": _FORMAT,
            "languages": [languages.target, languages.source],
            "metrics": header,
        }
        archive.writestr("scores.json", json.dumps(content, ensure_ascii=False))


def read_scores(path: Path) -> tuple[list[MetricScores], Languages]:
    """Read a scores file; damage is reported in one sentence."""
    try:
        with zipfile.ZipFile(path) as archive:
            content = json.loads(_read_member(archive, "scores.json"))
            if content["prism_scores"] != _FORMAT:
                raise PrismError(f"{path} has format {content['prism_scores']}; this version reads {_FORMAT}")
            metrics = [_read_metric(archive, number, one) for number, one in enumerate(content["metrics"])]
            return metrics, Languages(*content["languages"])
    except OSError as error:
        raise PrismError(f"cannot read {path}: {error.strerror}") from error
    except PrismError:
        raise
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, EOFError, RuntimeError, AttributeError) as error:
        raise PrismError(f"{path} is not a scores file, or is damaged: {error}") from error


def _header(scores: MetricScores) -> dict[str, Any]:
    return {
        "metric": scores.metric,
        "systems": scores.systems,
        "signature": scores.signature,
        "lower_is_better": scores.lower_is_better,
        "segment_ids": scores.segment_ids,
        "pair": scores.pair,
        "needs": sorted(scores.needs),
        "parts": [dict(own) for own in scores.parts],
        "statistics": scores.statistics is not None,
        "tokens": None
        if scores.tokens is None
        else [
            [[(trace.direction, trace.pieces, trace.scores) for trace in traces] for traces in own]
            for own in scores.tokens
        ],
        "spans": None
        if scores.spans is None
        else [[[dataclasses.astuple(span) for span in spans] for spans in own] for own in scores.spans],
        "error_free": None if scores.error_free is None else scores.error_free.tolist(),
    }


def _read_metric(archive: zipfile.ZipFile, number: int, header: Mapping[str, Any]) -> MetricScores:
    systems = tuple(header["systems"])
    statistics = aggregate = None
    if header["statistics"]:
        statistics = tuple(_read_array(archive, f"{number}.statistics.{row}.npy") for row in range(len(systems)))
        aggregate = make_metric(header["metric"]).aggregate
    tokens = None
    if header["tokens"] is not None:
        tokens = tuple(
            tuple(tuple(TokenTrace(way, tuple(p), tuple(s)) for way, p, s in traces) for traces in own)
            for own in header["tokens"]
        )
    return MetricScores(
        header["metric"],
        systems,
        _read_array(archive, f"{number}.segments.npy"),
        _read_array(archive, f"{number}.systems.npy"),
        header["signature"],
        bool(header["lower_is_better"]),
        statistics,
        aggregate,
        tuple(header["segment_ids"]),
        header["pair"],
        tokens,
        frozenset(header["needs"]),
        tuple(header.get("parts", ())),
        None if header.get("spans") is None else _spans(header["spans"]),
        None if header.get("error_free") is None else np.array(header["error_free"], dtype=np.float64),
    )


def _spans(rows: Any) -> tuple[Spans, ...]:
    return tuple(tuple(tuple(ErrorSpan(*values) for values in spans) for spans in own) for own in rows)


def _write_array(archive: zipfile.ZipFile, name: str, array: NDArray[np.float64]) -> None:
    with archive.open(name, "w", force_zip64=True) as handle:
        np.lib.format.write_array(handle, np.ascontiguousarray(array), allow_pickle=False)


def _read_array(archive: zipfile.ZipFile, name: str) -> Matrix:
    """Read an array without trusting the shape in its header, for which NumPy would reserve memory at once."""
    data = io.BytesIO(_read_member(archive, name))
    np.lib.format.read_magic(data)
    shape, by_column, dtype = np.lib.format.read_array_header_1_0(data)
    found = np.frombuffer(data.getbuffer(), dtype, offset=data.tell())
    return found.reshape(shape, order="F" if by_column else "C").astype(np.float64)


def _read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Read a member, which is as long as it says only if it is not compressed."""
    if archive.getinfo(name).compress_type != zipfile.ZIP_STORED:
        raise zipfile.BadZipFile(f"{name} is compressed")
    return archive.read(name)
