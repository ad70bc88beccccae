"""Beam search on torch: n-best lists, diverse groups, the copy penalty.

A sentence (with groups: each group) is searched until it has as many finished hypotheses as beams; a hypothesis can
finish only while it is among the best of the beam. CTranslate2 and, with early stopping, transformers do the same.
Finished groups are dropped as soon as every sentence has one to drop.
Shapes in comments: B sentences, G remaining groups, W beams of a group (one in the first step), R = B·G·W rows,
V vocabulary.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from prism_mt.generate.base import Found, Symbols
from prism_mt.generate.copy_penalty import Copying, History
from prism_mt.generate.incremental import Stepper
from prism_mt.generate.options import SearchConfig

_NEVER = float("-inf")


class _Choice(NamedTuple):
    """What one group does at one step; (B, W) each, the candidates (B, 2·W)."""

    scores: Tensor
    tokens: Tensor
    rows: Tensor
    """Of origin."""
    candidates: Tensor
    """Tokens of all candidates, including the end of sentence and those that are not continued."""
    possible: Tensor
    """Which candidates are valid."""


def beam_search(
    stepper: Stepper,
    prefixes: Tensor,
    limits: Sequence[int],
    symbols: Symbols,
    config: SearchConfig,
    copying: Copying | None = None,
) -> list[list[Found]]:
    """Find all finished hypotheses of each sentence, best first; `prefixes` are (B, start and tag)."""
    search = _Search(prefixes, limits, symbols, config, copying)
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
        self,
        prefixes: Tensor,
        limits: Sequence[int],
        symbols: Symbols,
        config: SearchConfig,
        copying: Copying | None,
    ) -> None:
        groups, self._strength = (config.groups, config.strength) if config.method == "diverse" else (1, 0.0)
        self.found: list[list[list[Found]]] = [[[] for _ in range(groups)] for _ in limits]
        self._symbols = symbols
        self._length_penalty = config.length_penalty
        self._size = config.beams // groups
        self._limits = limits
        self._copying = copying
        self._sentences = list(range(len(limits)))
        """The sentences still being searched, as indices into `limits`."""
        self._groups = [list(range(groups)) for _ in limits]
        """The groups that each of them still has, always the same number."""
        self._predicted = prefixes.shape[1] - 1
        self._device = prefixes.device
        self._first = True
        # In the first step all groups start from the single row of their sentence.
        self._rows = torch.arange(len(limits), device=self._device)[:, None, None].expand(-1, groups, 1)
        self._scores = torch.zeros(len(limits), groups, 1, device=self._device)
        self._tokens = torch.zeros(len(limits), 0, dtype=torch.long, device=self._device)
        """Tokens generated so far by every row, (R, steps)."""
        self._histories: list[History] = [()] * len(limits)

    def advance(self, logits: Tensor) -> tuple[Tensor, Tensor | None, Tensor] | None:
        """Take one step; return rows, sentences and tokens (R, 1) to continue with, or None when all are finished."""
        candidates = self._candidates(logits)
        self._predicted += 1
        self._first = False
        choices: list[_Choice] = []
        for slot in range(candidates.shape[1]):
            if choices and self._strength:
                self._penalize_repetition(candidates[:, slot], choices)
            choices.append(self._choose(candidates[:, slot], slot))
        scores, tokens, rows = (torch.stack(parts, dim=1) for parts in list(zip(*choices, strict=True))[:3])
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
        """The groups of every sentence to continue with, the same number in each; None to keep all of them.

        Groups that continue keep their order, since each is penalized by the choices of those before it.
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
        batch = len(self._sentences)
        if self._symbols.forbidden:
            logits[:, list(self._symbols.forbidden)] = _NEVER
        if self._first:
            logits[:, self._symbols.end] = _NEVER  # no text translates to the empty string
        scores = logits.log_softmax(-1)
        if self._copying:
            penalty, tables = self._copying
            of_rows = [tables[self._sentences[row * batch // len(scores)]] for row in range(len(scores))]
            scores = penalty.apply(scores, of_rows, self._histories)
        if self._first:
            return scores.view(batch, 1, 1, -1).repeat(1, len(self._groups[0]), 1, 1)
        return scores.view(*self._scores.shape, -1).add_(self._scores[..., None])

    def _penalize_repetition(self, candidates: Tensor, earlier: Sequence[_Choice]) -> None:
        """Make the candidates of earlier groups at this step less attractive, in place; (B, W, V).

        As in the papers' toolkit, all candidates count, twice as many as a group has beams, not only those that it
        continues with.
        """
        tokens = torch.cat([choice.candidates for choice in earlier], dim=1)
        possible = torch.cat([choice.possible for choice in earlier], dim=1)
        costs = -self._strength * possible.to(candidates.dtype)
        shape = (-1, candidates.shape[1], -1)
        candidates.scatter_add_(2, tokens[:, None].expand(*shape), costs[:, None].expand(*shape))

    def _choose(self, candidates: Tensor, slot: int) -> _Choice:
        """Collect what finishes in one group, and choose what it continues with."""
        size = self._size
        batch, width, vocabulary = candidates.shape
        # Every beam can finish once, so twice as many candidates leave enough to continue with.
        values, flat = candidates.reshape(batch, -1).topk(min(2 * size, width * vocabulary))
        tokens = flat % vocabulary
        origins = self._rows[:, slot].gather(1, flat // vocabulary)
        ends = tokens == self._symbols.end
        self._collect(slot, values[:, :size], tokens[:, :size], origins[:, :size], ends[:, :size])
        order = ends.int().argsort(dim=1, stable=True)[:, :size]
        done = [
            self._has_all(sentence, groups[slot])
            for sentence, groups in zip(self._sentences, self._groups, strict=True)
        ]
        scores = values.gather(1, order).masked_fill(torch.tensor(done, device=self._device)[:, None], _NEVER)
        return _Choice(scores, tokens.gather(1, order), origins.gather(1, order), tokens, values > _NEVER)

    def _collect(self, slot: int, values: Tensor, tokens: Tensor, origins: Tensor, ends: Tensor) -> None:
        """Keep hypotheses that finish here, or are cut off because their sentence has reached its limit."""
        last = [self._predicted >= self._limits[sentence] for sentence in self._sentences]
        ending = (ends | torch.tensor(last, device=self._device)[:, None]) & (values > _NEVER)
        hits = ending.nonzero().tolist()
        if not hits:
            return
        scores, ids, rows = values.tolist(), tokens.tolist(), origins.tolist()
        for place, rank in hits:
            pieces = tuple(self._tokens[rows[place][rank]].tolist())
            complete = ids[place][rank] == self._symbols.end
            if not complete:
                pieces += (ids[place][rank],)
            score = scores[place][rank] / self._predicted**self._length_penalty
            self.found[self._sentences[place]][self._groups[place][slot]].append(Found(pieces, score, complete))

    def _is_done(self, sentence: int) -> bool:
        if self._predicted >= self._limits[sentence]:
            return True
        return all(self._has_all(sentence, group) for group in range(len(self.found[sentence])))

    def _has_all(self, sentence: int, group: int) -> bool:
        return len(self.found[sentence][group]) >= self._size

    def _go_on(self, scores: Tensor, tokens: Tensor, rows: Tensor) -> None:
        """Make the chosen continuations the rows of the next step."""
        self._scores = scores
        self._tokens = torch.cat([self._tokens[rows], tokens[:, None]], dim=1)
        if self._copying:
            self._histories = [
                self._copying.penalty.extend(self._histories[row], token)
                for row, token in zip(rows.tolist(), tokens.tolist(), strict=True)
            ]
        self._rows = torch.arange(len(tokens), device=self._device).view(scores.shape)
