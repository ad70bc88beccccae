"""Beam search on torch: n-best lists, diverse groups, the copy penalty.

A sentence (with groups: each group) is searched until as many hypotheses as its beam has have ended; a hypothesis
ends only while it is among the best of the beam. CTranslate2 and, with early stopping, transformers do the same.
Groups that have found all that they may are left out as soon as every sentence has such a group to leave out.
Shapes in comments: B sentences, G groups that are left, W beams of a group (one in the first step), R = B·G·W rows,
V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from prism_mt.generate.base import Found
from prism_mt.generate.copy_penalty import CopyPenalty, CopyTable, History
from prism_mt.generate.incremental import Stepper

_NEVER = float("-inf")


@dataclass(frozen=True)
class BeamRules:
    """The options of a search as it needs them."""

    end: int
    """Id of the end of sentence."""
    forbidden: Sequence[int]
    """Ids that are never generated; the others share their probability."""
    beams: int
    groups: int = 1
    strength: float = 0.0
    length_penalty: float = 1.0
    penalty: CopyPenalty | None = None


def beam_search(
    stepper: Stepper, prefixes: Tensor, limits: Sequence[int], rules: BeamRules, copies: Sequence[CopyTable] = ()
) -> list[list[Found]]:
    """All hypotheses that ended, the best first, for each sentence; `prefixes` are (B, start and tag).

    `copies` are the n-grams of each input, where the rules have a copy penalty.
    """
    search = _Search(prefixes, limits, rules, copies)
    logits = stepper.step(prefixes)
    while (selected := search.advance(logits)) is not None:
        rows, sentences, tokens = selected
        stepper.select(rows, sentences)
        logits = stepper.step(tokens)
    return [
        sorted((found for group in groups for found in group), key=lambda found: -found.score)
        for groups in search.found
    ]


class _Search:
    """All beams of a batch between two steps."""

    def __init__(
        self, prefixes: Tensor, limits: Sequence[int], rules: BeamRules, copies: Sequence[CopyTable]
    ) -> None:
        self.found: list[list[list[Found]]] = [[[] for _ in range(rules.groups)] for _ in limits]
        self._rules = rules
        self._size = rules.beams // rules.groups
        self._limits = limits
        self._copies = copies
        self._sentences = list(range(len(limits)))
        """Those that are still searched, as places in `limits`."""
        self._groups = [list(range(rules.groups)) for _ in limits]
        """What groups each of them still has, the same number."""
        self._predicted = prefixes.shape[1] - 1
        self._device = prefixes.device
        self._first = True
        # In the first step all groups go out from the one row of their sentence.
        self._rows = torch.arange(len(limits), device=self._device)[:, None, None].expand(-1, rules.groups, 1)
        self._scores = torch.zeros(len(limits), rules.groups, 1, device=self._device)
        self._tokens = torch.zeros(len(limits), 0, dtype=torch.long, device=self._device)
        """What every row has generated, (R, steps)."""
        self._histories: list[History] = [()] * len(limits)

    def advance(self, logits: Tensor) -> tuple[Tensor, Tensor | None, Tensor] | None:
        """Take one step; rows, sentences and tokens (R, 1) to go on with, or None when all is found."""
        candidates = self._candidates(logits)
        self._predicted += 1
        self._first = False
        groups: list[tuple[Tensor, Tensor, Tensor]] = []
        for slot in range(candidates.shape[1]):
            if groups and self._rules.strength:
                self._penalise_repetition(candidates[:, slot], groups)
            groups.append(self._choose(candidates[:, slot], slot))
        scores, tokens, rows = (torch.stack(parts, dim=1) for parts in zip(*groups, strict=True))
        open_ = [place for place, sentence in enumerate(self._sentences) if not self._is_done(sentence)]
        if not open_:
            return None
        sentences = None
        if len(open_) < len(self._sentences):
            sentences = torch.tensor(open_, device=self._device)
            scores, tokens, rows = scores[sentences], tokens[sentences], rows[sentences]
            self._sentences = [self._sentences[place] for place in open_]
            self._groups = [self._groups[place] for place in open_]
        if slots := self._leave_groups():
            kept = torch.tensor(slots, device=self._device)[..., None].expand(-1, -1, scores.shape[2])
            scores, tokens, rows = (part.gather(1, kept) for part in (scores, tokens, rows))
        self._go_on(scores, tokens.flatten(), rows.flatten())
        return rows.flatten(), sentences, tokens.reshape(-1, 1)

    def _leave_groups(self) -> list[list[int]] | None:
        """Of every sentence the places of the groups to go on with, as many in each; None when they are all of them.

        Those that search on keep their order, since each heeds the choices of those before it.
        """
        before = len(self._groups[0])
        done = [
            [self._has_all(sentence, group) for group in groups]
            for sentence, groups in zip(self._sentences, self._groups, strict=True)
        ]
        left = max(flags.count(False) for flags in done)
        if left == before:
            return None
        slots = [sorted(range(before), key=flags.__getitem__)[:left] for flags in done]
        self._groups = [
            [groups[slot] for slot in chosen] for groups, chosen in zip(self._groups, slots, strict=True)
        ]
        return slots

    def _candidates(self, logits: Tensor) -> Tensor:
        """Scores of every continuation, (B, G, W, V)."""
        rules, batch = self._rules, len(self._sentences)
        if rules.forbidden:
            logits[:, list(rules.forbidden)] = _NEVER
        if self._first:
            logits[:, rules.end] = _NEVER  # no text has the empty text for a translation
        scores = logits.log_softmax(-1)
        if rules.penalty:
            tables = [self._copies[self._sentences[row * batch // len(scores)]] for row in range(len(scores))]
            scores = rules.penalty.apply(scores, tables, self._histories)
        if self._first:
            return scores.view(batch, 1, 1, -1).repeat(1, rules.groups, 1, 1)
        return scores.view(*self._scores.shape, -1).add_(self._scores[..., None])

    def _penalise_repetition(self, candidates: Tensor, earlier: Sequence[tuple[Tensor, Tensor, Tensor]]) -> None:
        """Make what earlier groups go on with at this step less attractive, in place; (B, W, V)."""
        tokens = torch.cat([tokens for _, tokens, _ in earlier], dim=1)
        alive = torch.cat([scores > _NEVER for scores, _, _ in earlier], dim=1)
        costs = -self._rules.strength * alive.to(candidates.dtype)
        shape = (-1, candidates.shape[1], -1)
        candidates.scatter_add_(2, tokens[:, None].expand(*shape), costs[:, None].expand(*shape))

    def _choose(self, candidates: Tensor, slot: int) -> tuple[Tensor, Tensor, Tensor]:
        """Scores, tokens and rows of origin, (B, beams of the group) each, of what one group goes on with."""
        size = self._size
        batch, width, vocabulary = candidates.shape
        # Every beam can end once, so twice as many candidates leave enough that go on.
        values, flat = candidates.reshape(batch, -1).topk(min(2 * size, width * vocabulary))
        tokens = flat % vocabulary
        origins = self._rows[:, slot].gather(1, flat // vocabulary)
        ends = tokens == self._rules.end
        self._collect(slot, values[:, :size], tokens[:, :size], origins[:, :size], ends[:, :size])
        order = ends.int().argsort(dim=1, stable=True)[:, :size]
        done = [
            self._has_all(sentence, groups[slot])
            for sentence, groups in zip(self._sentences, self._groups, strict=True)
        ]
        scores = values.gather(1, order).masked_fill(torch.tensor(done, device=self._device)[:, None], _NEVER)
        return scores, tokens.gather(1, order), origins.gather(1, order)

    def _collect(self, slot: int, values: Tensor, tokens: Tensor, origins: Tensor, ends: Tensor) -> None:
        """Keep what ends here, or is cut off because its sentence has reached its limit."""
        last = [self._predicted >= self._limits[sentence] for sentence in self._sentences]
        ending = (ends | torch.tensor(last, device=self._device)[:, None]) & (values > _NEVER)
        hits = ending.nonzero().tolist()
        if not hits:
            return
        scores, ids, rows = values.tolist(), tokens.tolist(), origins.tolist()
        for place, rank in hits:
            pieces = tuple(self._tokens[rows[place][rank]].tolist())
            complete = ids[place][rank] == self._rules.end
            if not complete:
                pieces += (ids[place][rank],)
            score = scores[place][rank] / self._predicted**self._rules.length_penalty
            self.found[self._sentences[place]][self._groups[place][slot]].append(Found(pieces, score, complete))

    def _is_done(self, sentence: int) -> bool:
        if self._predicted >= self._limits[sentence]:
            return True
        return all(self._has_all(sentence, group) for group in range(self._rules.groups))

    def _has_all(self, sentence: int, group: int) -> bool:
        return len(self.found[sentence][group]) >= self._size

    def _go_on(self, scores: Tensor, tokens: Tensor, rows: Tensor) -> None:
        """The chosen continuations become the rows of the next step."""
        self._scores = scores
        self._tokens = torch.cat([self._tokens[rows], tokens[:, None]], dim=1)
        if penalty := self._rules.penalty:
            self._histories = [
                penalty.extend(self._histories[row], token)
                for row, token in zip(rows.tolist(), tokens.tolist(), strict=True)
            ]
        self._rows = torch.arange(len(tokens), device=self._device).view(scores.shape)
