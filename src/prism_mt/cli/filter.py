"""`prism filter`: which lines of a bitext are translations of each other?"""

import logging
import math
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from prism_mt._core.arguments import Command, option
from prism_mt._core.errors import PrismError
from prism_mt._core.files import write_atomically
from prism_mt._core.progress import track
from prism_mt.cli.inputs import warn_empty
from prism_mt.engines.factory import EngineConfig
from prism_mt.metrics.base import Metric
from prism_mt.metrics.forced_decoding import LongPolicy
from prism_mt.metrics.parallel import ParallelText
from prism_mt.metrics.prism import PrismOptions
from prism_mt.metrics.registry import ModelInUse, Setting, make_metric
from prism_mt.models.resolve import DEFAULT_MODEL
from prism_mt.text.lines import open_fields, open_lines


@dataclass
class FilterOptions:
    """Options of `prism filter`."""

    src_lang: str = option("language of the first side", flags=("--from",), metavar="XX")
    lang: str = option("language of the second side", flags=("--to",), metavar="XX")
    files: list[str] = option(
        "two files that are parallel, or one of two columns, tab-separated (default: standard input)",
        [],
        positional=True,
        metavar="FILE",
    )
    threshold: float | None = option(
        "write only the pairs that score so much or more, as score, source and target; scores are between 0 and 1 "
        "(default: the score of every line and nothing else)",
        None,
        metavar="X",
    )
    model: str = option(
        "model: a folder, hf:ORG/NAME, or a name of `prism models list`", DEFAULT_MODEL, metavar="M"
    )
    output: Path | None = option("write here instead of standard output", None, flags=("-o",), metavar="FILE")
    long: LongPolicy = option(
        "a line longer than the model's positions: stop, cut it off, or score windows", "truncate"
    )


def run(options: FilterOptions, engine: EngineConfig) -> None:
    """Score every pair, and write scores or the pairs that are good enough."""
    if options.threshold is not None and not 0 <= options.threshold <= 1:
        raise PrismError(f"the threshold must be between 0 and 1, not {options.threshold:g}")
    text = _bitext(options.files)
    count = text.count()
    for lines in (text.source, text.systems[0][1]):
        if lines is not None:
            warn_empty(lines)
    model = ModelInUse(options.model, engine)
    setting = Setting(options.lang, options.src_lang, model, PrismOptions(long=options.long))
    metric = make_metric("prism-dual", setting)
    with write_atomically(options.output) if options.output else nullcontext(sys.stdout) as handle:
        _write(handle, metric, text, count, options.threshold)
        handle.flush()


def _bitext(files: list[str]) -> ParallelText:
    if len(files) > 2:
        raise PrismError(f"a bitext has two sides, not {len(files)}: give two files, or one with two columns")
    if len(files) == 2:
        source, target = (open_lines(file) for file in files)
    else:
        (_, source), (_, target) = open_fields(files[0] if files else "-", ["src", "tgt"])
    return ParallelText((("target", target),), source=source)


def _write(handle: IO[str], metric: Metric, text: ParallelText, count: int, threshold: float | None) -> None:
    """A line per pair, or per pair that is good enough, as scores come."""
    scores = (math.exp(result.score) for result in metric.score(text.segments()))
    kept = 0
    # The texts are read a second time: the scores come a window later than the texts they are made from.
    for score, segment in zip(track(scores, "scoring", count), text.segments(), strict=True):
        if threshold is None:
            handle.write(f"{score!r}\n")
        elif score >= threshold:
            kept += 1
            row = (repr(score), *(side.replace("\t", " ") for side in (segment.source or "", segment.hypothesis)))
            handle.write("\t".join(row) + "\n")
    if threshold is not None:
        logging.getLogger("prism_mt").warning("kept %s of %s pairs", f"{kept:,}", f"{count:,}")


COMMAND = Command(
    "filter",
    "Filter bitext by dual conditional cross-entropy: a pair is good when the model finds each side probable given "
    "the other, and both about equally (Junczys-Dowmunt 2018).",
    (FilterOptions, EngineConfig),
    run,
    epilog="""examples:
  prism filter corpus.de corpus.en --from de --to en > scores.txt
  prism filter corpus.tsv.gz --from de --to en --threshold 0.05 --output kept.tsv
""",
)
