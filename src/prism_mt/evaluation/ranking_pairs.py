"""Training pairs from human judgments: two outputs of a segment of which the same rater prefers one.

They are stored segment by segment, so that training decodes every output once rather than once per pair:

    {"lp": "en-de", "segment": "7", "src": …, "ref": …, "outputs": [texts], "scores": [means over raters],
     "pairs": [[better, worse], …]}     places among the outputs; what two raters say is there twice
"""

import dataclasses
import itertools
import json
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from prism_mt._core.errors import PrismError
from prism_mt._core.files import write_atomically
from prism_mt._core.options import from_table
from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.overlap import segment_key
from prism_mt.evaluation.ratings import ALL_RATERS
from prism_mt.evaluation.readers.fields import json_records
from prism_mt.evaluation.references import choose_reference

_LOG = logging.getLogger("prism_mt")


@dataclass(frozen=True)
class RankedSegment:
    """The outputs of one segment and which of them humans prefer."""

    lp: str
    segment: str
    src: str
    ref: str
    outputs: tuple[str, ...]
    scores: tuple[float, ...]
    """Means over raters, higher is better."""
    pairs: tuple[tuple[int, int], ...]
    """Indices of the better and the worse output; one pair per rater who says so."""


@dataclass
class _Rated:
    """The ratings of one segment by rater, then by system, in the order of the data."""

    column: int
    ratings: dict[str, dict[str, float]] = field(default_factory=dict)


def rank_segments(
    judgments: Judgments, minimum: float = 0.1, reference: str | None = None, humans: bool = True
) -> list[RankedSegment]:
    """Pair the outputs that a rater scored more than `minimum` apart; segments without a pair are left out.

    Human translations are treated like any other output, unless `humans` is false. The differences are those of
    floating-point sums: the published counts depend on it.
    """
    _check_raters(judgments)
    reference = choose_reference(judgments, reference)
    ranked = []
    for segment in _by_segment(judgments if humans else judgments.without_humans()):
        named = [
            (one, other) if scores[one] > scores[other] else (other, one)
            for scores in segment.ratings.values()
            for one, other in itertools.combinations(scores, 2)
            if abs(scores[one] - scores[other]) > minimum
        ]
        if named:
            ranked.append(_ranked(judgments, segment, named, reference))
    if not ranked:
        raise PrismError(
            f"{judgments.place}: no rater scored two outputs of a segment more than {minimum:g} apart: "
            "no pairs are left"
        )
    return ranked


def split_off(
    segments: Sequence[RankedSegment], pairs: int, whole_segments: bool = False
) -> tuple[list[RankedSegment], list[RankedSegment]]:
    """Hold out exactly the last `pairs` pairs of every language pair, as published.

    One segment of each then has pairs on both sides. With `whole_segments` the number is rounded up, so that validation
    never uses texts seen in training.
    """
    totals: Counter[str] = Counter()
    for segment in segments:
        totals[segment.lp] += len(segment.pairs)
    held_out: Counter[str] = Counter()
    kept: list[RankedSegment] = []
    held: list[RankedSegment] = []
    for segment in reversed(segments):
        missing = pairs - held_out[segment.lp]
        if missing <= 0:
            kept.append(segment)
        elif whole_segments or len(segment.pairs) <= missing:
            held.append(segment)
            held_out[segment.lp] += len(segment.pairs)
        else:
            kept.append(_only(segment, segment.pairs[:-missing]))
            held.append(_only(segment, segment.pairs[-missing:]))
            held_out[segment.lp] += missing
    for lp, total in totals.items():
        if held_out[lp] == total:
            raise PrismError(f"{lp} has only {total:,} pairs, but {pairs:,} are to be held out: hold out fewer")
    return kept[::-1], held[::-1]


def within_length(
    segments: Iterable[RankedSegment], length: Callable[[str], int], limit: int
) -> list[RankedSegment]:
    """Drop texts that are empty or longer than `limit`, as counted by `length`, and report how many."""
    kept: list[RankedSegment] = []
    dropped, before = 0, 0
    for segment in segments:
        before += len(segment.pairs)
        usable = [0 < length(text) <= limit for text in segment.outputs]
        if not all(0 < length(text) <= limit for text in (segment.ref, segment.src)):
            usable = [False] * len(usable)
        pairs = [(a, b) for a, b in segment.pairs if usable[a] and usable[b]]
        dropped += len(segment.pairs) - len(pairs)
        if len(pairs) == len(segment.pairs):
            kept.append(segment)
        elif pairs:
            kept.append(_only(segment, pairs))
    if dropped:
        _LOG.warning(
            "%d of %d pairs are left out: a text is empty or has more than %d pieces", dropped, before, limit
        )
    if not kept:
        raise PrismError(f"no pairs are left: all have an empty text or one of more than {limit} pieces")
    return kept


def write_ranked(path: Path, segments: Iterable[RankedSegment]) -> None:
    """Write segments with their pairs, one JSON object on each line."""
    with write_atomically(path) as handle:
        for segment in segments:
            handle.write(json.dumps(dataclasses.asdict(segment), ensure_ascii=False) + "\n")


def read_ranked(path: Path) -> list[RankedSegment]:
    """Read a file written by `write_ranked`."""
    found = []
    for where, record in json_records(path):
        segment = from_table(record, RankedSegment, where)
        count = len(segment.outputs)
        fit = all(len(pair) == 2 and min(pair) >= 0 and max(pair) < count for pair in segment.pairs)
        if not segment.pairs:
            raise PrismError(f"{where}: no pairs: leave this segment out")
        if len(segment.scores) != count or not fit:
            raise PrismError(f"{where}: its scores or pairs do not match its {count} outputs")
        found.append(segment)
    if not found:
        raise PrismError(f"{path} has no pairs: make them with `prism judgments pairs`")
    return found


def count_pairs(segments: Iterable[RankedSegment]) -> int:
    """Number of pairs."""
    return sum(len(segment.pairs) for segment in segments)


def segment_keys(segments: Iterable[RankedSegment]) -> frozenset[str]:
    """Keys of segments that a model fine-tuned on them must not be judged on."""
    return frozenset(segment_key(segment.lp, segment.src) for segment in segments)


def _by_segment(judgments: Judgments) -> list[_Rated]:
    found: dict[int, _Rated] = {}
    for rater, system, column, score in judgments.ratings.rows():
        rated = found.setdefault(column, _Rated(column))
        scores = rated.ratings.setdefault(judgments.ratings.raters[rater], {})
        name = judgments.systems[system]
        if name in scores:
            raise PrismError(
                f"{judgments.place}: rater {judgments.ratings.raters[rater]} has rated segment "
                f"{judgments.segments[column]} of {name} twice: keep one rating"
            )
        scores[name] = score
    return list(found.values())


def _check_raters(judgments: Judgments) -> None:
    """Reject raters of a single output: they can never be paired, so the file is probably wrong."""
    ratings = judgments.ratings
    if not len(ratings):
        raise PrismError(f"{judgments.place} has no ratings of single outputs")
    counts = Counter(ratings.rater.tolist())
    for rater, count in counts.items():
        if count == 1 and ratings.raters[rater] != ALL_RATERS:
            row = int(np.flatnonzero(ratings.rater == rater)[0])
            output = (
                f"segment {judgments.segments[ratings.segment[row]]} of {judgments.systems[ratings.system[row]]}"
            )
            raise PrismError(
                f"{judgments.place}: rater {ratings.raters[rater]} rated a single output, {output}, which cannot be "
                "compared with another one of theirs: remove this rating or correct the rater's name"
            )


def _ranked(
    judgments: Judgments, segment: _Rated, named: Sequence[tuple[str, str]], reference: str
) -> RankedSegment:
    where = f"{judgments.place}, segment {judgments.segments[segment.column]}"
    texts = judgments.texts
    source = texts.sources[segment.column] if texts else None
    reference_text = texts.references[reference][segment.column] if texts else None
    if source is None or reference_text is None:
        raise PrismError(f"{where}: a rated segment has no {'source' if source is None else reference}")
    systems = list(dict.fromkeys(system for scores in segment.ratings.values() for system in scores))
    outputs = [
        texts.outputs[system][segment.column] if texts and system in texts.outputs else None for system in systems
    ]
    missing = [system for system, output in zip(systems, outputs, strict=True) if output is None]
    if missing:
        raise PrismError(f"{where}: no text of {', '.join(missing)}, but it is rated")
    given: dict[str, list[float]] = defaultdict(list)
    for scores in segment.ratings.values():
        for system, score in scores.items():
            given[system].append(score)
    place = {system: index for index, system in enumerate(systems)}
    return RankedSegment(
        judgments.pair,
        judgments.segments[segment.column],
        source,
        reference_text,
        tuple(output for output in outputs if output is not None),
        tuple(sum(given[system]) / len(given[system]) for system in systems),
        tuple((place[better], place[worse]) for better, worse in named),
    )


def _only(segment: RankedSegment, pairs: Sequence[tuple[int, int]]) -> RankedSegment:
    """The segment with only these pairs and the outputs that occur in them."""
    used = sorted({place for pair in pairs for place in pair})
    place = {old: new for new, old in enumerate(used)}
    return dataclasses.replace(
        segment,
        outputs=tuple(segment.outputs[index] for index in used),
        scores=tuple(segment.scores[index] for index in used),
        pairs=tuple((place[better], place[worse]) for better, worse in pairs),
    )
