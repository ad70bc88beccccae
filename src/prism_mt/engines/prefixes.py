"""Targets of one source that begin alike: what a decoder reads and predicts there is the same, so it is done once."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class SharedPrefixes:
    """The distinct prefixes of the targets of every source, as rows in the order of the sources.

    A decoder sees the source and what it has read, nothing after it. So targets share the rows of the prefixes that
    they have in common, and their scores.
    """

    inputs: list[int] = field(default_factory=list)
    """The token that is read last, for every row."""
    counts: list[int] = field(default_factory=list)
    """Rows per source."""
    rows: list[int] = field(default_factory=list)
    """The row of every token that is read, target by target."""
    before: list[int] = field(default_factory=list)
    """The row after which a token is predicted, for every distinct prediction."""
    wanted: list[int] = field(default_factory=list)
    """That token."""
    predictions: list[int] = field(default_factory=list)
    """The prediction that every token but the first of its target is scored by, target by target."""

    @property
    def is_shared(self) -> bool:
        """Whether any targets have more in common than their source."""
        return len(self.inputs) < len(self.rows)


def share_prefixes(targets: Sequence[Sequence[int]], counts: Sequence[int]) -> SharedPrefixes:
    """Find them; the first `counts[0]` targets belong to the first source, and so on."""
    found = SharedPrefixes()
    start = 0
    for count in counts:
        rows = len(found.inputs)
        if count == 1:
            _add_alone(targets[start], found)
        else:
            _add_group(targets[start : start + count], found)
        found.counts.append(len(found.inputs) - rows)
        start += count
    return found


def _add_alone(target: Sequence[int], found: SharedPrefixes) -> None:
    rows = range(len(found.inputs), len(found.inputs) + len(target) - 1)
    found.predictions.extend(range(len(found.wanted), len(found.wanted) + len(rows)))
    found.inputs.extend(target[:-1])
    found.rows.extend(rows)
    found.before.extend(rows)
    found.wanted.extend(target[1:])


def _add_group(targets: Sequence[Sequence[int]], found: SharedPrefixes) -> None:
    read: dict[tuple[int, int], int] = {}
    predicted: dict[tuple[int, int], int] = {}
    for target in targets:
        row = -1
        for place in range(len(target) - 1):
            step = row, target[place]
            row = read.setdefault(step, len(found.inputs))
            if row == len(found.inputs):
                found.inputs.append(target[place])
            found.rows.append(row)
            step = row, target[place + 1]
            prediction = predicted.setdefault(step, len(found.wanted))
            if prediction == len(found.wanted):
                found.before.append(row)
                found.wanted.append(target[place + 1])
            found.predictions.append(prediction)
