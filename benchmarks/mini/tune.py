"""Tune the embedded model on rankings: its probabilities learn to order outputs as people do.

    OMP_NUM_THREADS=1 torchrun --nproc-per-node 2 benchmarks/mini/tune.py --data DIR --output DIR --bfloat16

`prism finetune` (Vamvas et al. 2023) ranks by probabilities alone and trains all weights. Here translation goes on
beside the ranking, so that neither the languages without judgments nor the decoder is forgotten. The encoder stays as
it is, and with it all metrics over its vectors. With `--encoder-layers` its upper layers are trained, too, and a second
loss orders outputs by the best cosines of its vectors (what `bertscore` computes). An interrupted run goes on where its
last checkpoint is.
"""

import argparse
import csv
import dataclasses
import itertools
import pickle
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import groups as made
import judgments as judged
import numpy as np
import torch
import torch.distributed as dist
from groups import Group
from scipy.stats import kendalltau
from scorer import Scorer
from stream import Stream, some_outputs
from torch import nn

from prism_mt.evaluation.overlap import segment_key
from prism_mt.models.directory import write_model
from prism_mt.models.network import to_weights
from prism_mt.models.resolve import open_model


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
    """The segments that `prism metaeval` should warn of: all but the held-out documents."""
    return frozenset(
        segment_key(pair, row["src"])
        for pair, rows, documents in judged.wmt20(data)
        for row in rows
        if row["doc"] not in documents
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
    parser.add_argument(
        "--encoder-layers", type=int, default=0, help="so many upper layers of the encoder are trained"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--evaluate", type=int, default=150, help="steps between evaluations")
    parser.add_argument("--bfloat16", action="store_true", help="for processors that have it")
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
    tuned = scorer.train_upper(options.encoder_layers)
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
            with torch.autocast("cpu", torch.bfloat16, enabled=options.bfloat16):
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
        # A context for each step: weights that it has converted are kept until it ends.
        with torch.autocast("cpu", torch.bfloat16, enabled=options.bfloat16):
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
        torch.autograd.backward(weight * (prism + cosine if scorer.encoder_trained else prism))
        values += [prism.item(), cosine.item()]
    loss = scorer.translation(stream.translations(draw, 2500))
    torch.autograd.backward(0.4 * loss)
    return [*values, loss.item()]


if __name__ == "__main__":
    main()
