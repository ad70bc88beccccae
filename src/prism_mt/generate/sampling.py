"""Ancestral sampling on torch, with a separate random stream for every sample of every sentence.

A sample therefore depends on the seed, the sentence and its own number, and not on what else is in the batch. Every
token gets its own noise, and the largest sum of noise and logit is drawn (Gumbel-max): rounding, which differs from
batch to batch, then matters only for two tokens that are almost equal. With one random number for the whole
distribution it would matter at every boundary between tokens.
Shapes in comments: R rows (active samples), V vocabulary.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from prism_mt.generate.base import Found, Request, Symbols
from prism_mt.generate.incremental import Stepper
from prism_mt.generate.options import SearchConfig


def sample(
    stepper: Stepper, prefixes: Tensor, requests: Sequence[Request], symbols: Symbols, config: SearchConfig
) -> list[list[Found]]:
    """Draw the samples of each sentence.

    Their scores are those of the model itself, whatever temperature and truncation they were drawn with.
    """
    count, device = config.n, prefixes.device
    streams = [stream(request, number, config.seed) for request in requests for number in range(count)]
    limits = [request.limit for request in requests for _ in range(count)]
    found: list[Found | None] = [None] * len(limits)
    tokens: list[list[int]] = [[] for _ in limits]
    totals = [0.0] * len(limits)
    under_way = list(range(len(limits)))
    logits = stepper.step(prefixes)
    predicted, first = prefixes.shape[1] - 1, True
    while True:
        logits[:, [*symbols.forbidden, *([symbols.end] if first else [])]] = float("-inf")
        if first:  # one row per sentence becomes one per sample, each with a copy of the source's keys
            rows = torch.arange(len(requests), device=device).repeat_interleave(count)
            stepper.select(rows, rows)
            logits, first = logits[rows], False
        noise = np.stack([gumbel(streams[index], logits.shape[1]) for index in under_way])
        chosen, scores = _draw(logits, torch.from_numpy(noise).to(device), config)
        predicted += 1
        going_on = []
        for row, (index, token, score) in enumerate(zip(under_way, chosen.tolist(), scores.tolist(), strict=True)):
            totals[index] += score
            if token != symbols.end:
                tokens[index].append(token)
            if token == symbols.end or predicted >= limits[index]:
                total = totals[index] / predicted**config.length_penalty
                found[index] = Found(tuple(tokens[index]), total, token == symbols.end)
            else:
                going_on.append(row)
        if not going_on:
            break
        keep = torch.tensor(going_on, device=device)
        if len(going_on) < len(under_way):
            stepper.select(keep, keep)
            under_way = [under_way[row] for row in going_on]
        logits = stepper.step(chosen[keep][:, None])
    results = [result for result in found if result is not None]
    return [results[start : start + count] for start in range(0, len(results), count)]


def stream(request: Request, number: int, seed: int) -> np.random.Generator:
    """The random number generator of one sample of one sentence."""
    text = f"{seed} {number} {request.source} {request.prefix}"
    key = np.frombuffer(hashlib.sha256(text.encode()).digest()[:16], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key))


def gumbel(numbers: np.random.Generator, size: int) -> NDArray[np.float32]:
    """Noise of one step: negated logarithms of exponentially distributed numbers."""
    drawn = numbers.standard_exponential(size, dtype=np.float32)
    return -np.log(np.maximum(drawn, np.finfo(np.float32).tiny))


def _draw(logits: Tensor, noise: Tensor, config: SearchConfig) -> tuple[Tensor, Tensor]:
    """Tokens (R,), and their log-probabilities without temperature and truncation."""
    values = logits / config.temperature
    if config.top_k and config.top_k < logits.shape[1]:
        best, ids = values.topk(config.top_k)
        values = torch.full_like(values, float("-inf")).scatter(1, ids, best)
    if config.top_p < 1:
        ordered, ids = values.sort(dim=1, descending=True)
        probabilities = ordered.to(_precision(logits.device)).softmax(1)
        outside = probabilities.cumsum(1) - probabilities >= config.top_p
        values = values.scatter(1, ids, ordered.masked_fill(outside, float("-inf")))
    chosen = (values + noise).argmax(1, keepdim=True)
    scores = logits.log_softmax(1).gather(1, chosen)
    return chosen[:, 0], scores[:, 0]


def _precision(device: torch.device) -> torch.dtype:
    """Use double precision to accumulate probabilities over a large vocabulary; Apple's GPUs lack it."""
    return torch.float32 if device.type == "mps" else torch.float64
