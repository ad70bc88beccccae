"""`prism judgments pairs`: turn human judgments into training pairs for fine-tuning."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from prism_mt._core.arguments import Command, Group
from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option
from prism_mt.cli.output import TableOptions, write_tables
from prism_mt.evaluation.mqm import score_from_errors
from prism_mt.evaluation.overlap import warn_of_overlap
from prism_mt.evaluation.ranking_pairs import (
    RankedSegment,
    rank_segments,
    segment_keys,
    split_off,
    within_length,
    write_ranked,
)
from prism_mt.evaluation.readers import read_all_judgments
from prism_mt.models.resolve import DEFAULT_MODEL, open_model
from prism_mt.report.table import Column, Table, number


@dataclass(frozen=True, kw_only=True)
class PairOptions(Config):
    """Options of `prism judgments pairs`."""

    judgments: list[Path] = option(
        "MQM (JSONL, or Google's TSV with one error per line) or direct assessment (TSV), with raters",
        positional=True,
        metavar="JUDGMENTS",
    )
    folder: Path = option("output folder for train.jsonl and valid.jsonl", metavar="DIR")
    pair: str | None = option(
        "language pair of a file that does not state it", None, flags=("--pairs",), metavar="LP"
    )
    reference: str | None = option("which reference to use, if there are several", None, metavar="NAME")
    minimum: float = option("minimum difference (exclusive) between two scores of a rater", 0.1, metavar="D")
    non_translation: float = option(
        "penalty of a non-translation in MQM (5: the published pairs of Prism+FT)", 25.0, metavar="P"
    )
    given_scores: bool = option("use the file's own MQM scores instead of its error lists", False)
    no_humans: bool = option(
        "leave out ratings of human translations (Human-A, ref-B), for a metric that only scores machine translation",
        False,
    )
    held_out: int = option("pairs per language pair for validation", 5000, metavar="N")
    whole_segments: bool = option(
        "hold out whole segments, rounded up; otherwise one segment per language pair has pairs on both sides",
        False,
    )
    max_pieces: int | None = option("leave out texts with more pieces of --model", None, metavar="N")
    model: str = option("model whose pieces --max-pieces counts", DEFAULT_MODEL, metavar="M")
    test: list[Path] = option(
        "judgments that will be scored: warn if they are among the pairs", [], metavar="FILE"
    )


def run_pairs(options: PairOptions, output: TableOptions) -> None:
    """Write the pairs and print how many there are."""
    if options.held_out < 0 or options.minimum < 0:
        raise PrismError("--held-out and --minimum must not be negative")
    twice = [path for path, count in Counter(path.resolve() for path in options.judgments).items() if count > 1]
    if twice:
        raise PrismError(f"{twice[0]} is given twice: its segments would be both held out and trained on")
    pairs = (options.pair,) if options.pair else ()
    ranked: list[RankedSegment] = []
    for judgments in read_all_judgments(options.judgments, pairs=pairs, prefer=("raw",)):
        if not options.given_scores:
            judgments = score_from_errors(judgments, options.non_translation)
        ranked += rank_segments(judgments, options.minimum, options.reference, not options.no_humans)
    if options.max_pieces is not None:
        vocabulary = open_model(options.model).source
        ranked = within_length(ranked, lambda text: len(vocabulary.encode(text)), options.max_pieces)
    keys = segment_keys(ranked)
    for judgments in read_all_judgments(options.test, pairs=pairs):
        warn_of_overlap(keys, judgments, "a model that is fine-tuned on these pairs")
    train, valid = split_off(ranked, options.held_out, options.whole_segments)
    write_ranked(options.folder / "train.jsonl", train)
    write_ranked(options.folder / "valid.jsonl", valid)
    write_tables([_counts(ranked, valid)], output)


def _counts(ranked: list[RankedSegment], valid: list[RankedSegment]) -> Table:
    pairs: Counter[str] = Counter()
    held: Counter[str] = Counter()
    segments: Counter[str] = Counter()
    outputs: Counter[str] = Counter()
    for segment in ranked:
        pairs[segment.lp] += len(segment.pairs)
        segments[segment.lp] += 1
        outputs[segment.lp] += len(segment.outputs)
    for segment in valid:
        held[segment.lp] += len(segment.pairs)
    titles = ("segments", "outputs", "pairs", "training", "validation")
    columns = (Column("pair"), *(number(title, 0) for title in titles))
    rows = tuple((lp, segments[lp], outputs[lp], pairs[lp], pairs[lp] - held[lp], held[lp]) for lp in pairs)
    return Table(columns, rows, "Pairs of outputs of which a rater prefers one")


_EPILOG = """example:
  prism judgments pairs wmt20_mqm_en-de.jsonl wmt20_mqm_zh-en.jsonl --reference Human-A.0 --folder pairs
  prism finetune CONFIG.toml"""

COMMAND = Group(
    name="judgments",
    help="prepare human judgments",
    commands=(
        Command("pairs", "pairs of outputs to fine-tune on", (PairOptions, TableOptions), run_pairs, _EPILOG),
    ),
)
