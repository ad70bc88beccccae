"""Error spans and error-free probabilities as text, TSV, and the files of the WMT error-span tasks."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from prism_mt._core.errors import PrismError
from prism_mt._core.files import write_atomically
from prism_mt._core.terminal import printable
from prism_mt.metrics.base import ErrorSpan
from prism_mt.metrics.scores import Scores, SystemScores

_NONE = "-1\t-1\tno-error"


def describe_span(span: ErrorSpan) -> str:
    """Describe an error in a few words."""
    words = {"hypothesis": "wrong", "reference": "missing", "source": "missing (source)"}
    return f"{words[span.part]}: {printable(span.text)} ({span.severity}, {span.probability:.2f})"


def write_error_lines(handle: IO[str], results: Sequence[SystemScores]) -> None:
    """For people: a line per segment with its score, its errors below it."""
    for result in results:
        handle.write(f"{result.metric} {result.system} {result.score:.4f} {result.signature}\n")
        for place, score in enumerate(result.segments.tolist()):
            free = "" if result.error_free is None else f"\terror-free {result.error_free[place]:.2f}"
            handle.write(f"{place + 1}\t{score:.4f}{free}\n")
            for span in result.spans[place] if result.spans is not None else ():
                handle.write(f"\t{describe_span(span)}\n")


def write_error_rows(handle: IO[str], results: Sequence[SystemScores]) -> None:
    """For programs: a row per error, and with error-free probabilities a row per segment."""
    if any(result.spans is not None for result in results):
        handle.write("metric\tsystem\tsegment\tpart\tstart\tend\tseverity\tprobability\ttext\n")
        for result in results:
            for number, own in enumerate(result.spans or (), start=1):
                for span in own:
                    place = f"{span.part}\t{span.start}\t{span.end}"
                    head = f"{result.metric}\t{printable(result.system)}\t{number}\t{place}"
                    handle.write(f"{head}\t{span.severity}\t{span.probability:.4f}\t{printable(span.text)}\n")
        return
    handle.write("metric\tsystem\tsegment\tscore\terror_free\n")
    for result in results:
        if result.error_free is not None:
            for number, (score, free) in enumerate(zip(result.segments, result.error_free, strict=True), start=1):
                handle.write(f"{result.metric}\t{printable(result.system)}\t{number}\t{score!r}\t{free:.6f}\n")


def write_wmt_spans(scores: Scores, folder: Path) -> None:
    """Write a file per metric and system in the layout of WMT's error-span tasks.

    Columns are language pair, method, segment from 0, output, starts, ends and severities, the last three separated by
    spaces; `-1`, `-1` and `no-error` where there is nothing wrong. Omissions have no place in an output.
    """
    if scores.text is None:
        raise PrismError("error spans are written with their texts, which these scores lack")
    pair = f"{scores.languages.source or 'xx'}-{scores.languages.target or 'xx'}"
    outputs = dict(scores.text.systems)
    for metric, own in scores.items():
        for one in own:
            if one.spans is None:
                continue
            name = re.sub(r"[^\w.+-]", "_", f"{metric}-{one.system}")
            with write_atomically(folder / f"{name}.spans.tsv") as handle:
                for number, (text, spans) in enumerate(zip(outputs[one.system], one.spans, strict=True)):
                    wrong = [span for span in spans if span.part == "hypothesis"]
                    columns = (
                        " ".join(str(span.start) for span in wrong),
                        " ".join(str(span.end) for span in wrong),
                        " ".join(span.severity for span in wrong),
                    )
                    shown = re.sub(r"[\t\n\r]", " ", text)  # places count the characters as they were
                    errors = "\t".join(columns) if wrong else _NONE
                    handle.write(f"{pair}\t{metric}\t{number}\t{shown}\t{errors}\n")
