"""Beam search: our two engines beside transformers' `generate`, on one random model, in one run.

    python benchmarks/generation.py [--sentences 32] [--repeat 2]
    python benchmarks/generation.py --diverse 200 [--data DIR]

The model is that of benchmarks/scoring.py: 6+6 layers, width 512, a vocabulary of 32k. It never ends a sentence, so all
searches take the same number of steps. The peer gets batches of 16 sentences of similar length. `--diverse N` measures
the default of `prism paraphrase --method diverse` (`mini`, 100 beams in 10 groups) on N English sentences of FLORES
instead: seconds per sentence and the peak of memory.
"""

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from generation_quality import flores
from scoring import SHAPES, convert, make_pairs, make_peer, pad

from prism_mt.engines.base import EngineName
from prism_mt.engines.factory import EngineConfig
from prism_mt.engines.scheduler import Scheduler
from prism_mt.generate.base import Request, SearchWork, textless_ids
from prism_mt.generate.generator import Generator
from prism_mt.generate.options import SearchConfig
from prism_mt.models.directory import ModelDirectory, write_model
from prism_mt.models.model import Model
from prism_mt.models.resolve import open_model
from prism_mt.report.table import Column, Table, number, render
from prism_mt.text.subwords import Vocabulary

STEPS, BEAM, PEER_BATCH = 32, 5, 16
START, TAG = 2, 5
Run = Callable[[], list[tuple[int, ...]]]


def with_pieces(model: ModelDirectory, folder: Path) -> ModelDirectory:
    """The same model with a vocabulary: an id without a piece would never be generated."""
    vocabulary = Vocabulary(b"unused", tuple(f"piece{index}" for index in range(SHAPES["60M"][-1])))
    return write_model(Model(model.spec, model.weights(), vocabulary, vocabulary), folder)


def run_peer(peer: Any, requests: Sequence[Request], forbidden: Sequence[int]) -> Run:
    ordered = sorted(requests, key=lambda request: len(request.source))
    places = {request: place for place, request in enumerate(requests)}

    def run() -> list[tuple[int, ...]]:
        best: list[tuple[int, ...]] = [()] * len(requests)
        for start in range(0, len(ordered), PEER_BATCH):
            batch = ordered[start : start + PEER_BATCH]
            source, mask = pad([request.source for request in batch])
            found = peer.generate(
                input_ids=source,
                attention_mask=mask,
                num_beams=BEAM,
                early_stopping=True,
                do_sample=False,
                max_new_tokens=STEPS,
                min_new_tokens=2,
                forced_bos_token_id=TAG,
                bad_words_ids=[[index] for index in forbidden],
                renormalize_logits=True,
            )
            for request, sequence in zip(batch, found.tolist(), strict=True):
                best[places[request]] = tuple(sequence[2:])
        return best

    return run


def run_ours(model: ModelDirectory, engine: EngineName, requests: Sequence[Request]) -> Run:
    search = SearchConfig(beam=BEAM)
    searcher = Generator(model, EngineConfig(engine=engine, device="cpu"), search).searcher(search)

    def run() -> list[tuple[int, ...]]:
        return [found[0].pieces for found in Scheduler(SearchWork(searcher, search.width)).run(requests)]

    return run


def best_time(run: Run, repeat: int) -> tuple[float, list[tuple[int, ...]]]:
    times, found = [], []
    for _ in range(repeat):
        start = time.perf_counter()
        found = run()
        times.append(time.perf_counter() - start)
    return min(times), found


def diverse(texts: Sequence[str]) -> None:
    generator = Generator(
        open_model("mini"), EngineConfig(engine="torch", device="cpu"), SearchConfig(method="diverse", n=100)
    )
    start = time.perf_counter()
    lists = list(generator.generate(texts, generator.route("en", "en")))
    seconds = (time.perf_counter() - start) / len(texts)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    different = sum(len({found.text for found in paraphrases}) for paraphrases in lists) / len(lists)
    print(
        f"diverse, 100 beams in 10 groups, {torch.get_num_threads()} threads: {seconds:.2f} s a sentence, "
        f"{different:.1f} different paraphrases of it, peak memory {peak:.0f} MB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=32)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--diverse", type=int, default=0, metavar="N")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("PRISM_DATA", "../shared/data")))
    options = parser.parse_args()
    if options.diverse:
        diverse(flores(options.data, options.diverse)["en"])
        return
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        peer = make_peer("60M")
        model = with_pieces(convert(peer, "60M", Path(folder) / "bare"), Path(folder) / "model")
        pairs = make_pairs(model, options.sentences)
        sentences = [Request(pair.source, (START, TAG), STEPS) for pair in pairs]
        runs = {
            "transformers": run_peer(peer, sentences, textless_ids(model)),
            "ours, torch": run_ours(model, "torch", sentences),
            "ours, ct2": run_ours(model, "ct2", sentences),
        }
        measured = {name: best_time(run, options.repeat) for name, run in runs.items()}
        seconds, wanted = measured["transformers"]
        rows = [
            (name, len(sentences) / took, seconds / took, sum(map(tuple.__eq__, found, wanted)))
            for name, (took, found) in measured.items()
        ]
        columns = (
            Column("engine"),
            number("sentences/s", 2),
            number("× transformers", 2),
            number("same output", 0),
        )
        print(render(Table(columns, tuple(rows))), end="")


if __name__ == "__main__":
    main()
