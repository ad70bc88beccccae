"""What each step of `tune.py` learns from."""

import random
from collections.abc import Sequence

from groups import Group, Pairs, Vote

COPIES = 0.2
"""Share of translations whose source is a copy of the target."""


def some_outputs(group: Group, draw: random.Random, count: int) -> Group:
    """A group with fewer outputs, at least two of which are ordered."""
    votes: list[Vote] = []
    while not votes:
        kept = draw.sample(range(len(group.outputs)), min(count, len(group.outputs)))
        place = {old: new for new, old in enumerate(kept)}
        votes = [(place[i], place[j], weight) for i, j, weight in group.votes if i in place and j in place]
    outputs = tuple(group.outputs[old] for old in kept)
    scores = tuple(group.scores[old] for old in kept)
    return Group(group.language, group.references, outputs, tuple(votes), scores)


class Stream:
    """What each step of one process learns from; a function of seed, process and step."""

    def __init__(
        self, judged: Sequence[Group], pairs: Pairs, synthetic: dict[str, list[Group]], seed: int
    ) -> None:
        self.judged = [group for group in judged if group.votes]
        self.pairs = {key: found for key, found in pairs.items() if len(found) > 20}
        self.synthetic = {key: found for key, found in synthetic.items() if found}
        self.seed = seed
        size = {key: len(found) ** 0.4 for key, found in self.pairs.items()}
        self.directions, self.chances = list(size), list(size.values())

    def judged_groups(self, step: int, rank: int, world: int, count: int) -> list[Group]:
        """Groups of similar length, each once in an epoch over all processes."""
        per_epoch = len(self.judged) // (count * world)
        epoch, place = divmod(step, per_epoch)
        draw = random.Random(f"{self.seed} {epoch}")
        order = list(self.judged)
        draw.shuffle(order)
        chunks = [
            sorted(order[i : i + 64], key=lambda group: len(group.references[0])) for i in range(0, len(order), 64)
        ]
        flat = [group for chunk in chunks for group in chunk]
        batches = [flat[i : i + count] for i in range(0, len(flat) - count + 1, count)]
        draw.shuffle(batches)
        return batches[(place * world + rank) % len(batches)]

    def synthetic_groups(self, draw: random.Random, count: int) -> list[Group]:
        found = [draw.choice(self.synthetic[draw.choice(list(self.synthetic))]) for _ in range(4 * count)]
        found.sort(key=lambda group: len(group.references[0].encode()))
        first = draw.randrange(3 * count + 1)
        return found[first : first + count]

    def translations(self, draw: random.Random, characters: int) -> list[tuple[str, str, str, str]]:
        """Pairs in either direction; some are copies, half of them with words dropped from the source."""
        found: list[tuple[str, str, str, str]] = []
        total = 0
        while total < 6 * characters:
            one, other = draw.choices(self.directions, self.chances)[0]
            first, second = draw.choice(self.pairs[one, other])
            if draw.random() < 0.5:
                one, other, first, second = other, one, second, first
            if draw.random() < COPIES:
                words = second.split()
                source = [word for word in words if draw.random() > 0.1] if draw.random() < 0.5 else words
                one, first = other, " ".join(source) or second
            found.append((one, other, first, second))
            total += max(10, len(second.encode()))
        # Some neighbors in length: padding would cost more than the texts.
        found.sort(key=lambda pair: len(pair[2].encode()) + len(pair[3].encode()))
        start, total = draw.random() * 5 * characters, 0
        kept = []
        for pair in found:
            total += max(10, len(pair[3].encode()))
            if start <= total < start + characters:
                kept.append(pair)
        return kept or found[-1:]
