"""Scores and ranking losses of the embedded model, differentiable, for `tune.py`."""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from groups import Group, Vote
from torch import Tensor, nn

from prism_mt.models.directory import ModelDirectory
from prism_mt.models.network import from_weights

Ids = tuple[int, ...]
MAX_PIECES = 110
NEGATIVES = 4000
"""So many of all target pieces stand for those that do not occur in a batch."""


class Scorer(nn.Module):
    """A model that gives the probability and the cosine score of each output of some groups."""

    def __init__(self, base: ModelDirectory) -> None:
        super().__init__()
        self.base = base
        self.model = from_weights(base.spec.architecture, base.weights())
        # How many nats, and how much cosine, make an output clearly better; the last is for pairs across segments.
        self.encoder_trained = True
        self.steepness = nn.Parameter(torch.tensor([5.0, 40.0, 3.0, 25.0]).log())

    def train_upper(self, layers: int) -> list[dict[str, Any]]:
        """Freeze all but the decoder and so many upper layers of the encoder; give parameters by learning rate."""
        encoder = self.model.encoder
        self.model.encoder.requires_grad_(False)
        self.encoder_trained = layers > 0
        upper = list(encoder.layers)[len(encoder.layers) - layers :]
        for layer in upper:
            layer.requires_grad_(True)
        tuned = [
            {"params": list(self.model.decoder.parameters()), "peak": 1.5e-4},
            {"params": [self.steepness], "peak": 1e-2},
        ]
        if layers:
            tuned.append({"params": [p for layer in upper for p in layer.parameters()], "peak": 4e-5})
        return tuned

    def sources(self, texts: Sequence[str], language: str) -> list[Ids]:
        spec = self.base.spec
        tag = spec.languages[language]
        return [
            spec.conventions.encode_source(self.base.source.encode(text)[:MAX_PIECES], tag, tag) for text in texts
        ]

    def targets(self, texts: Sequence[str], language: str) -> list[Ids]:
        spec = self.base.spec
        tag = spec.languages[language]
        return [spec.conventions.encode_target(self.base.target.encode(text)[:MAX_PIECES], tag) for text in texts]

    def encode(self, sources: Sequence[Ids]) -> tuple[Tensor, Tensor]:
        ids, padding = padded(sources)
        with torch.set_grad_enabled(self.encoder_trained and torch.is_grad_enabled()):
            return self.model.encode(ids, padding).float(), padding

    def log_probabilities(self, memory: Tensor, padding: Tensor, targets: Sequence[Ids]) -> tuple[Tensor, Tensor]:
        """Log-probabilities of all counted tokens, and the row of each."""
        ids, _ = padded(targets)
        states = self.model.decode(ids[:, :-1], memory, padding)
        counted = torch.zeros_like(ids[:, 1:], dtype=torch.bool)
        for row, target in enumerate(targets):
            counted[row, self.base.spec.conventions.counted(target)] = True
        wanted, rows = ids[:, 1:][counted], counted.nonzero()[:, 0]
        if not torch.is_grad_enabled():
            return self.model.project(states[counted]).log_softmax(1).gather(1, wanted[:, None])[:, 0], rows
        return self.sampled(states[counted], wanted), rows

    def sampled(self, states: Tensor, wanted: Tensor) -> Tensor:
        """Log-probabilities over the wanted pieces and a sample that stands for all others."""
        own, place = torch.unique(wanted, return_inverse=True)
        size = len(self.model.target_embedding)
        others = torch.randint(size, (NEGATIVES,))
        others = others[~torch.isin(others, own)]
        logits = F.linear(states, self.model.target_embedding[torch.cat([own, others])])
        share = math.log((size - len(own)) / len(others))
        total = torch.cat([logits[:, : len(own)], logits[:, len(own) :] + share], 1).logsumexp(1)
        return logits.gather(1, place[:, None])[:, 0] - total

    def means(self, memory: Tensor, padding: Tensor, targets: Sequence[Ids]) -> Tensor:
        tokens, rows = self.log_probabilities(memory, padding, targets)
        tokens = tokens.float()
        count = torch.zeros(len(targets)).index_add(0, rows, torch.ones_like(tokens))
        return torch.zeros(len(targets)).index_add(0, rows, tokens) / count

    def score(self, groups: Sequence[Group], references: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Prism-ref and F1 of best cosines of all outputs, in order."""
        texts: list[Ids] = []
        targets: list[Ids] = []
        rows: list[int] = []
        of_reference: list[int] = []
        for group, reference in zip(groups, references, strict=True):
            of_reference += [len(texts)] * len(group.outputs)
            rows += range(len(texts) + 1, len(texts) + 1 + len(group.outputs))
            both = (reference, *group.outputs)
            texts += self.sources(both, group.language)
            targets += self.targets(both, group.language)
        memory, padding = self.encode(texts)
        outputs, given = torch.tensor(rows), torch.tensor(of_reference)
        forward = self.means(memory[given], padding[given], [targets[row] for row in rows])
        backward = self.means(memory[outputs], padding[outputs], [targets[row] for row in of_reference])
        return (forward + backward) / 2, self.matches(memory, texts, outputs, given)

    def matches(self, memory: Tensor, texts: Sequence[Ids], ours: Tensor, theirs: Tensor) -> Tensor:
        """F1 of best cosines, without the special pieces at both ends."""
        with torch.autocast("cpu", enabled=False):  # differences between outputs are lost in bfloat16
            return self._matches(memory, texts, ours, theirs)

    def _matches(self, memory: Tensor, texts: Sequence[Ids], ours: Tensor, theirs: Tensor) -> Tensor:
        unit = F.normalize(memory, dim=2)
        lengths = torch.tensor([len(text) for text in texts])
        place = torch.arange(memory.shape[1])[None]
        real = (place > 0) & (place < lengths[:, None] - 1)
        cosines = unit[ours] @ unit[theirs].transpose(1, 2)
        seen = cosines.masked_fill(~(real[ours][:, :, None] & real[theirs][:, None, :]), -1.0)
        precision = (seen.amax(2) * real[ours]).sum(1) / real[ours].sum(1).clamp_min(1)
        recall = (seen.amax(1) * real[theirs]).sum(1) / real[theirs].sum(1).clamp_min(1)
        return 2 * precision * recall / (precision + recall).clamp_min(1e-3)

    def ranking(self, groups: Sequence[Group], references: Sequence[str], across: float) -> tuple[Tensor, Tensor]:
        """Both losses: within groups, and for a part across groups whose scores can be compared."""
        votes = list(itertools.chain.from_iterable(shifted(groups)))
        distant = list(pairs_across(groups)) if across else []
        steep = self.steepness.exp()
        losses = []
        for number, scores in enumerate(self.score(groups, references)):
            loss = preference(scores * steep[number], votes)
            if distant:
                loss = loss + across * preference(scores * steep[number + 2], distant)
            losses.append(loss)
        return losses[0], losses[1]

    def translation(self, pairs: Sequence[tuple[str, str, str, str]]) -> Tensor:
        """Mean cross-entropy per token."""
        sources = [self.sources([text], one)[0] for one, _, text, _ in pairs]
        targets = [self.targets([text], other)[0] for _, other, _, text in pairs]
        tokens, _ = self.log_probabilities(*self.encode(sources), targets)
        return -tokens.float().mean()


def padded(sequences: Sequence[Ids], pad: int = 1) -> tuple[Tensor, Tensor]:
    longest = max(map(len, sequences))
    ids = torch.tensor([[*row, *[pad] * (longest - len(row))] for row in sequences])
    lengths = torch.tensor([len(row) for row in sequences])
    return ids, torch.arange(longest)[None] >= lengths[:, None]


def shifted(groups: Sequence[Group]) -> Iterator[list[Vote]]:
    start = 0
    for group in groups:
        yield [(start + better, start + worse, weight) for better, worse, weight in group.votes]
        start += len(group.outputs)


def pairs_across(groups: Sequence[Group], minimum: float = 1.0) -> Iterator[Vote]:
    """Outputs of different segments in one language whose mean ratings are clearly different."""
    outputs = [(number, group.language, score) for number, group in enumerate(groups) for score in group.scores]
    for (i, one), (j, other) in itertools.permutations(enumerate(outputs), 2):
        if one[0] != other[0] and one[1] == other[1] and one[2] > other[2] + minimum:
            yield i, j, 1.0


def preference(scores: Tensor, votes: Sequence[Vote]) -> Tensor:
    """Bradley and Terry's negative log-likelihood of the votes."""
    better, worse = (torch.tensor([vote[side] for vote in votes]) for side in (0, 1))
    weights = torch.tensor([vote[2] for vote in votes])
    return (weights * F.softplus(scores[worse] - scores[better])).sum() / weights.sum()
