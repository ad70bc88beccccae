"""Made ranked segments."""

import random

from made import SENTENCES

from prism_mt.evaluation.ranking_pairs import RankedSegment

WORDS = [word for sentence in SENTENCES[5:8] for word in sentence.split()]


def made_segments(count: int, outputs: int, lp: str = "en-de") -> list[RankedSegment]:
    """Random words in an order of preference that is just as random: it can only be learned by heart."""
    draw = random.Random(lp)
    pairs = tuple((a, b) for a in range(outputs) for b in range(a + 1, outputs))
    found = []
    for number in range(count):
        texts = [" ".join(draw.choices(WORDS, k=4)) for _ in range(outputs + 2)]
        scores = tuple(float(-place) for place in range(outputs))
        found.append(RankedSegment(lp, str(number), texts[0], texts[1], tuple(texts[2:]), scores, pairs))
    return found
