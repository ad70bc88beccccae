"""`prism filter`: which lines of a bitext are translations of each other?"""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prism_mt._core.arguments import Command
from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option, option_of
from prism_mt._core.progress import track
from prism_mt.cli.output import TableOptions, destination
from prism_mt.corpus.filter import check_threshold, score_bitext
from prism_mt.engines.factory import EngineConfig
from prism_mt.metrics.base import Languages
from prism_mt.metrics.prism import PrismDual
from prism_mt.metrics.registry import make_metrics
from prism_mt.metrics.runtime import Runtime
from prism_mt.text.lines import open_fields, open_lines
from prism_mt.text.parallel import ParallelText


@dataclass(frozen=True)
class FilterOptions(Config):
    """Options of `prism filter`."""

    src_lang: str = option("language of the first side", flags=("--from",), metavar="XX")
    lang: str = option("language of the second side", flags=("--to",), metavar="XX")
    files: list[str] = option(
        "two parallel files, or one file with two tab-separated columns (default: standard input)",
        [],
        positional=True,
        metavar="FILE",
    )
    threshold: float | None = option(
        "write only pairs with at least this score (0 to 1), as score, source and target "
        "(default: write just the score of every line)",
        None,
        metavar="X",
    )
    output: Path | None = option_of(TableOptions, "output")


def run(options: FilterOptions, engine: EngineConfig, metric_options: dict[str, Any]) -> None:
    """Score every pair, and write the scores or the pairs above the threshold."""
    threshold = None if options.threshold is None else check_threshold(options.threshold)
    text = _bitext(options.files)
    count = text.count()
    [metric] = make_metrics(["prism-dual"], {"overlong": "truncate", **metric_options})
    assert isinstance(metric, PrismDual)
    pairs = score_bitext(text, metric, Languages(options.lang, options.src_lang), Runtime(engine))
    kept = 0
    with destination(options.output) as handle:
        for pair in track(pairs, "scoring", count):
            if threshold is None:
                handle.write(f"{pair.score!r}\n")
            elif pair.score >= threshold:
                kept += 1
                sides = (side.replace("\t", " ") for side in (pair.source, pair.target))
                handle.write("\t".join((repr(pair.score), *sides)) + "\n")
    if threshold is not None:
        logging.getLogger("prism_mt").warning("kept %s of %s pairs", f"{kept:,}", f"{count:,}")


def _bitext(files: list[str]) -> ParallelText:
    if len(files) > 2:
        raise PrismError(f"a bitext has two sides, not {len(files)}: pass two files, or one with two columns")
    if len(files) == 2:
        source, target = (open_lines(file) for file in files)
    else:
        (_, source), (_, target) = open_fields(files[0] if files else "-", ["src", "tgt"])
    return ParallelText((("target", target),), source=source)


COMMAND = Command(
    "filter",
    "Filter bitext by dual conditional cross-entropy: a pair is good if the model finds each side probable given "
    "the other, and both about equally (Junczys-Dowmunt 2018).",
    (FilterOptions, EngineConfig),
    run,
    metrics=("prism-dual",),
    epilog="""examples:
  prism filter corpus.de corpus.en --from de --to en > scores.txt
  prism filter corpus.tsv.gz --from de --to en --threshold 0.05 --output kept.tsv
""",
)
