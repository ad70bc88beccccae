"""Tune the embedded model on rankings: its probabilities and its vectors learn to order outputs as people do.

    OMP_NUM_THREADS=1 torchrun --nproc-per-node 2 benchmarks/mini/tune.py --data DIR --output DIR

`prism finetune` (Vamvas et al. 2023) ranks by probabilities alone and trains all weights. Here one loss orders outputs
by Prism-ref, another by the best cosines of the encoder's vectors (what `bertscore` computes), and translation goes on
beside both, so that neither the languages without judgments nor the decoder is forgotten. The piece vectors and the
lowest layers of the encoder stay as they are. An interrupted run goes on where its last checkpoint is.
"""

import argparse
import csv
import dataclasses
import itertools
import math
import pickle
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import groups as made
import judgments as judged
import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from groups import Group, Pairs, Vote
from scipy.stats import kendalltau
from torch import Tensor, nn

from prism_mt.evaluation.overlap import segment_key
from prism_mt.models.directory import ModelDirectory, write_model
from prism_mt.models.network import from_weights, to_weights
from prism_mt.models.resolve import open_model

Ids = tuple[int, ...]
MAX_PIECES = 110
NEGATIVES = 4000
"""So many of all target pieces stand for those that do not occur in a batch."""
TRAINED_LAYERS = 6
"""So many of the encoder's upper layers are trained."""


class Scorer(nn.Module):
    """A model that gives the probability and the cosine score of each output of some groups."""

    def __init__(self, base: ModelDirectory) -> None:
        super().__init__()
        self.base = base
        self.model = from_weights(base.spec.architecture, base.weights())
        # How many nats, and how much cosine, make an output clearly better; the last is for pairs across segments.
        self.steepness = nn.Parameter(torch.tensor([5.0, 40.0, 3.0, 25.0]).log())

    def train_upper(self) -> list[dict[str, Any]]:
        """Freeze the rest, and give the parameters by learning rate."""
        encoder = self.model.encoder
        self.model.encoder.requires_grad_(False)
        upper = list(encoder.layers)[-TRAINED_LAYERS:]
        for layer in upper:
            layer.requires_grad_(True)
        return [
            {"params": [p for layer in upper for p in layer.parameters()], "peak": 4e-5},
            {"params": list(self.model.decoder.parameters()), "peak": 1.5e-4},
            {"params": [self.steepness], "peak": 1e-2},
        ]

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
        return self.model.encode(ids, padding), padding

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
        return -tokens.mean()


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
        """Pairs in either direction; a fifth are copies, half of them with words dropped from the source."""
        found: list[tuple[str, str, str, str]] = []
        total = 0
        while total < 6 * characters:
            one, other = draw.choices(self.directions, self.chances)[0]
            first, second = draw.choice(self.pairs[one, other])
            if draw.random() < 0.5:
                one, other, first, second = other, one, second, first
            if draw.random() < 0.2:
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


def evaluate(scorer: Scorer, groups: Sequence[Group], rank: int, world: int) -> dict[str, tuple[float, float]]:
    """Accuracy within segments and tau over all outputs, ×100, by language and score."""
    order = sorted(groups, key=lambda group: len(group.references[0]))[rank::world]
    found = []
    with torch.no_grad():
        for group in order:
            prism, cosine = scorer.score([group], [group.references[0]])
            found.append((group.language, group.scores, prism.tolist(), cosine.tolist()))
    gathered: list[Any] = [None] * world
    dist.all_gather_object(gathered, found)
    rows = [row for part in gathered for row in part]
    result = {}
    for language in sorted({row[0] for row in rows}):
        own = [row for row in rows if row[0] == language]
        for name, values in (
            ("prism", [row[2] for row in own]),
            ("cosine", [row[3] for row in own]),
            ("sum", [[a + 5 * b for a, b in zip(row[2], row[3], strict=True)] for row in own]),
        ):
            humans = [row[1] for row in own]
            agree = total = 0
            for human, metric in zip(humans, values, strict=True):
                for i, j in itertools.combinations(range(len(human)), 2):
                    if human[i] != human[j]:
                        total += 1
                        agree += (human[i] - human[j]) * (metric[i] - metric[j]) > 0
            tau = kendalltau(np.concatenate(humans), np.concatenate(values)).statistic
            result[f"{language}/{name}"] = (100 * agree / total, 100 * tau)
    return result


def share_gradients(parameters: Sequence[nn.Parameter], world: int) -> None:
    gradients = [p.grad for p in parameters if p.grad is not None]
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    dist.all_reduce(flat)
    flat /= world
    start = 0
    for gradient in gradients:
        gradient.copy_(flat[start : start + gradient.numel()].view_as(gradient))
        start += gradient.numel()


def judged_keys(data: Path) -> frozenset[str]:
    """The segments that `prism metaeval` should warn of."""
    return frozenset(
        segment_key(pair, row["src"])
        for pair in judged.PAIRS
        for row in judged.read(data / "judgments" / f"wmt20_mqm_{pair}.jsonl.xz")
    )


def export(scorer: Scorer, folder: Path, keys: frozenset[str]) -> None:
    base = scorer.base
    spec = dataclasses.replace(base.spec, origin_digest="")
    model = dataclasses.replace(base.load(), spec=spec, weights=to_weights(scorer.model), card="", judged=keys)
    write_model(model, folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with judgments/ and bitext/")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--model", default="mini", help="what to start from")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--evaluate", type=int, default=150, help="steps between evaluations")
    parser.add_argument("--dev", type=int, default=200, help="held-out segments to evaluate on")
    options = parser.parse_args()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    options.output.mkdir(parents=True, exist_ok=True)
    cache = options.output / "data.pickle"
    base = open_model(options.model)
    if rank == 0 and not cache.exists():
        ranked, held = made.wmt20(options.data)
        texts = made.read_texts(options.data / "bitext", list(base.spec.languages))
        cache.write_bytes(
            pickle.dumps((ranked, held, dict(texts.pairs), made.synthetic(texts, 400, options.seed)))
        )
    dist.barrier()
    ranked, held, pairs, synthetic = pickle.loads(cache.read_bytes())
    held = random.Random(1).sample(held, min(options.dev, len(held)))
    stream = Stream(ranked, pairs, synthetic, options.seed)
    run(Scorer(base), stream, held, options, rank, world)


def run(
    scorer: Scorer, stream: Stream, held: Sequence[Group], options: argparse.Namespace, rank: int, world: int
) -> None:
    """The loop, from the last checkpoint on."""
    tuned = scorer.train_upper()
    parameters = [p for part in tuned for p in part["params"]]
    optimizer = torch.optim.AdamW(tuned, lr=1e-4, betas=(0.9, 0.98), weight_decay=0.01)
    scorer.model.eval()  # no dropout: an epoch or two
    first, path = 0, options.output / "checkpoint.pt"
    if path.exists():
        state = torch.load(path, weights_only=True)
        scorer.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["step"]
    log = open(options.output / f"log{rank}.csv", "a", encoding="utf-8", newline="")  # noqa: SIM115
    writer = csv.writer(log)
    start = time.time()
    for step in range(first, options.steps + 1):
        if step % options.evaluate == 0 or step == options.steps:
            if rank == 0 and step > first:
                export(scorer, options.output / f"model-{step}", judged_keys(options.data))
            result = evaluate(scorer, held, rank, world)
            if rank == 0:
                shown = "  ".join(f"{key} {a:.1f}/{tau:.1f}" for key, (a, tau) in result.items())
                print(f"{step} {time.time() - start:.0f}s {shown}", flush=True)
        if step == options.steps:
            break
        for part in optimizer.param_groups:
            part["lr"] = part["peak"] * min(1, (step + 1) / 30) * (1 - step / options.steps)
        draw = random.Random(f"{stream.seed} {rank} {step}")
        optimizer.zero_grad()
        values = learn(scorer, stream, draw, step, rank, world)
        share_gradients(parameters, world)
        norm = nn.utils.clip_grad_norm_(parameters, 1.0, error_if_nonfinite=True)
        optimizer.step()
        writer.writerow([step, f"{time.time() - start:.0f}", *(f"{value:.4f}" for value in values), f"{norm:.3f}"])
        log.flush()
        if rank == 0 and step % 20 == 19:
            state = {"model": scorer.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}
            torch.save(state, path.with_suffix(".partial"))
            path.with_suffix(".partial").replace(path)


def learn(scorer: Scorer, stream: Stream, draw: random.Random, step: int, rank: int, world: int) -> list[float]:
    """Add the gradients of one step: judged groups, synthetic ones, translation."""
    values = []
    ranked = [some_outputs(group, draw, 5) for group in stream.judged_groups(step, rank, world, 3)]
    references = [
        draw.choice(group.references) if draw.random() < 0.4 else group.references[0] for group in ranked
    ]
    for groups, given, across, weight in (
        (ranked, references, 0.3, 1.0),
        (found := stream.synthetic_groups(draw, 5), [group.references[0] for group in found], 0.0, 0.4),
    ):
        prism, cosine = scorer.ranking(groups, given, across)
        torch.autograd.backward(weight * (prism + cosine))
        values += [prism.item(), cosine.item()]
    loss = scorer.translation(stream.translations(draw, 2500))
    torch.autograd.backward(0.4 * loss)
    return [*values, loss.item()]


if __name__ == "__main__":
    main()
