"""Scores as text, TSV, JSON and WMT metrics task files."""

import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from prism_mt._core.errors import PrismError
from prism_mt._core.files import write_atomically
from prism_mt._core.terminal import printable
from prism_mt.metrics.base import SegmentScore
from prism_mt.metrics.scores import Scores, SystemScores
from prism_mt.report.errors import write_error_lines, write_error_rows, write_wmt_spans
from prism_mt.report.table import Column, Table, Value, number, render_all

ScoreFormat = Literal["text", "tsv", "json"]

_SEGMENT_HEADER = "metric\tsystem\tsegment\tscore\n"


class TokenSpool:
    """Token scores of all segments of a metric, kept on disk because there may be millions."""

    def __init__(self, systems: int) -> None:
        self._files = [tempfile.TemporaryFile("w+", encoding="utf-8") for _ in range(systems)]  # noqa: SIM115

    def add(self, system: int, result: SegmentScore) -> None:
        """Store the tokens of one segment."""
        traces = [
            {"direction": trace.direction, "pieces": list(trace.pieces), "scores": list(trace.scores)}
            for trace in result.tokens
        ]
        self._files[system].write(json.dumps(traces, ensure_ascii=False) + "\n")

    def lines(self, system: int) -> Iterator[str]:
        """Yield one JSON array per segment: its forced decodings."""
        file = self._files[system]
        file.seek(0)
        for line in file:
            yield line.rstrip("\n")


def stream_segments(
    handle: IO[str],
    format: Literal["text", "tsv"],
    metric: str,
    signature: str,
    system: str,
    scores: Iterable[SegmentScore],
) -> None:
    """Write the segment scores of one system as they arrive, so that memory does not grow with their number.

    In text format, each line is just a score.
    """
    head = f"{metric}\t{_cell(system)}"
    if format == "tsv":
        handle.write(f"# {printable(signature)}\n{_SEGMENT_HEADER}")
    for place, result in enumerate(scores, start=1):
        handle.write(f"{result.score!r}\n" if format == "text" else f"{head}\t{place}\t{result.score!r}\n")


@dataclass(frozen=True)
class ScoreReport:
    """Scores, and how much of them to show."""

    scores: Scores
    segments: bool = False
    token_spools: Sequence[TokenSpool] = ()
    """Token spools of every metric, if tokens are requested."""

    @property
    def results(self) -> list[SystemScores]:
        """All systems of all metrics."""
        return [one for scores in self.scores.values() for one in scores]

    @property
    def tokens(self) -> bool:
        """Whether to show pieces."""
        return bool(self.token_spools)

    @property
    def errors(self) -> bool:
        """Whether errors were looked for."""
        return any(result.spans is not None or result.error_free is not None for result in self.results)

    @property
    def spools(self) -> list[tuple[TokenSpool, int]]:
        """For each result, its spool and the system's index in it."""
        return [
            (spool, place)
            for scores, spool in zip(self.scores.values(), self.token_spools, strict=True)
            for place in range(len(scores.systems))
        ]

    def write(self, handle: IO[str], format: ScoreFormat) -> None:
        """Write the report to an open file."""
        {"text": self._write_text, "tsv": self._write_tsv, "json": self._write_json}[format](handle)

    def _write_text(self, handle: IO[str]) -> None:
        if self.tokens:
            self._write_token_lines(handle)
        elif self.errors:
            write_error_lines(handle, self.results)
        elif self.segments:
            self._write_tsv(handle)
        else:
            handle.write(render_all([self._system_table(), *self._document_tables()]))

    def _write_tsv(self, handle: IO[str]) -> None:
        if not (self.segments or self.tokens or self.errors):
            handle.write(render_all([self._system_table(signature=True), *self._document_tables()], "tsv"))
            return
        for signature in dict.fromkeys(result.signature for result in self.results):
            handle.write(f"# {printable(signature)}\n")
        if self.tokens:
            self._write_token_rows(handle)
            return
        if self.errors:
            write_error_rows(handle, self.results)
            return
        handle.write(_SEGMENT_HEADER)
        for result in self.results:
            head = f"{result.metric}\t{_cell(result.system)}"
            for index, score in enumerate(result.segments.tolist(), start=1):
                handle.write(f"{head}\t{index}\t{score!r}\n")

    def _write_json(self, handle: IO[str]) -> None:
        """Write an object with `results`, piece by piece, since tokens may not fit into memory."""
        handle.write('{"results": [')
        for index, result in enumerate(self.results):
            entry: dict[str, object] = {
                "metric": result.metric,
                "system": result.system,
                "score": result.score,
                "signature": result.signature,
            }
            if documents := self.scores.by_document(result.metric):
                system = self.scores[result.metric].systems.index(result.system)
                entry["documents"] = {name: float(values[system]) for name, values in documents.items()}
            if result.spans is not None:
                entry["spans"] = [[span.to_dict() for span in own] for own in result.spans]
            if result.error_free is not None:
                entry["error_free"] = result.error_free.tolist()
            if self.segments:
                entry["segments"] = result.segments.tolist()
            text = json.dumps(entry, ensure_ascii=False)
            handle.write(("," if index else "") + "\n " + text[:-1])
            if self.tokens:
                self._write_json_tokens(handle, index)
            handle.write("}")
        handle.write("\n]}\n")

    def _write_json_tokens(self, handle: IO[str], index: int) -> None:
        handle.write(', "tokens": [')
        if self.token_spools:
            spool, system = self.spools[index]
            for place, line in enumerate(spool.lines(system)):
                handle.write((",\n  " if place else "\n  ") + line)
        handle.write("]")

    def _write_token_lines(self, handle: IO[str]) -> None:
        """Write a line per forced decoding, each piece with its log-probability."""
        for result, (spool, system) in zip(self.results, self.spools, strict=True):
            handle.write(
                f"{result.metric} {printable(result.system)} {result.score:.4f} {printable(result.signature)}\n"
            )
            for segment, line in enumerate(spool.lines(system), start=1):
                handle.write(f"{segment}\t{result.segments[segment - 1]:.4f}\n")
                for trace in json.loads(line):
                    pairs = zip(trace["pieces"], trace["scores"], strict=True)
                    shown = "  ".join(f"{printable(piece)} {score:.2f}" for piece, score in pairs)
                    handle.write(f"\t{trace['direction']}\t{shown}\n")

    def _write_token_rows(self, handle: IO[str]) -> None:
        handle.write("metric\tsystem\tsegment\tdirection\tposition\tpiece\tscore\n")
        for result, (spool, system) in zip(self.results, self.spools, strict=True):
            for segment, line in enumerate(spool.lines(system), start=1):
                for trace in json.loads(line):
                    head = f"{result.metric}\t{_cell(result.system)}\t{segment}\t{trace['direction']}"
                    for position, piece in enumerate(trace["pieces"], start=1):
                        handle.write(f"{head}\t{position}\t{_cell(piece)}\t{trace['scores'][position - 1]!r}\n")

    def _document_tables(self) -> list[Table]:
        """A row per document, a column per metric and system; no table if documents are unknown."""
        found = {metric: self.scores.by_document(metric) for metric in self.scores}
        names = list(next(iter(found.values()), {}))
        if not names:
            return []
        columns = [number(f"{one.metric} {one.system}", 4) for one in self.results]
        rows: list[tuple[Value, ...]] = [
            (name, *(float(value) for own in found.values() for value in own[name])) for name in names
        ]
        return [Table((Column("document"), *columns), tuple(rows))]

    def _system_table(self, signature: bool = False) -> Table:
        """A row per metric and system; in text format, signatures follow below, once each."""
        columns = [Column("metric"), Column("system"), number("score", 4)]
        rows: list[tuple[str | float, ...]] = [(r.metric, r.system, r.score) for r in self.results]
        if signature:
            columns.append(Column("signature"))
            rows = [(*row, result.signature) for row, result in zip(rows, self.results, strict=True)]
            return Table(tuple(columns), tuple(rows))
        return Table(
            tuple(columns), tuple(rows), signatures=tuple(dict.fromkeys(r.signature for r in self.results))
        )


def write_wmt(scores: Scores, folder: Path) -> None:
    """Write `METRIC-REFERENCE.seg.score` and `.sys.score`, lines of system and score, as in the WMT metrics task."""
    for system in scores.systems:
        if re.search(r"[\t\n\r]", system):
            raise PrismError(
                f"the system's name {system!r} has a tab or a line break, which this format cannot hold"
            )
    if any(own.spans is not None for own in scores.values()):
        write_wmt_spans(scores, folder)
    references = "+".join(Path(lines.name).name for lines in scores.text.references) if scores.text else ""
    for metric, own in scores.items():
        against = references if "ref" in own.needs and references else "src"
        name = re.sub(r"[^\w.+-]", "_", f"{metric}-{against}")
        with write_atomically(folder / f"{name}.seg.score") as handle:
            for one in own:
                handle.writelines(f"{one.system}\t{score!r}\n" for score in one.segments.tolist())
        with write_atomically(folder / f"{name}.sys.score") as handle:
            handle.writelines(f"{one.system}\t{one.score!r}\n" for one in own)


def _cell(text: str) -> str:
    """Escape a value so that it cannot break a row."""
    return printable(text.replace("\\", "\\\\"))
