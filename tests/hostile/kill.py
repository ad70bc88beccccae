"""Long commands killed at random and started again: `python -m hostile.kill --kills 1000`.

Each ends with the result of an undisturbed run, nothing lost and nothing doubled: byte by byte, but for scores, whose
last digits depend on what else is in their batch.
"""

import argparse
import contextlib
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from made import SENTENCES, make_model
from made_corpus import make_corpus

from prism_mt.models.directory import write_model

_NUMBER = re.compile(rb"-?\d+\.\d+(?:e-?\d+)?")


@dataclass(frozen=True)
class Long:
    """A command; {home} and {out} are folders, and `result` the part of the output that counts."""

    name: str
    words: str
    result: str
    exact: bool = True


COMMANDS = (
    Long(
        "score", "score --model {home}/model {texts} --segments --format tsv -o {out}/x.tsv", "x.tsv", exact=False
    ),
    Long(
        "compare",
        "compare --model {home}/model {texts} --metric prism-ref chrf --format json -o {out}/x",
        "x",
        exact=False,
    ),
    Long(
        "paraphrase", "paraphrase --model {home}/model --lang en {home}/few {small} -n 2 -o {out}/x.txt", "x.txt"
    ),
    Long("translate", "translate --model {home}/model --to de {home}/few {small} -o {out}/x.txt", "x.txt"),
    Long("corpus prepare", "corpus prepare {home}/corpus/config.toml --root {home}/corpus --output {out}/x", "x"),
    Long("train", "train {home}/train.toml --output {out}/x", "x/model"),
    Long("finetune", "finetune {home}/finetune.toml --output {out}/x", "x/model"),
    Long("metric train", "metric train {home}/metric.toml --output {out}/x", "x/weights.safetensors"),
    Long(
        "reproduce",
        "reproduce thompson2020/example --model {home}/model --format tsv -o {out}/x.tsv --device cpu --threads 1",
        "x.tsv",
        exact=False,
    ),
)
_SMALL = "--batch-tokens 400 --device cpu --threads 1"
_TRAIN = """
name = "killed"
data = "{home}/shards"
threads = 1
device = "cpu"
architecture = {{ width = 16, encoder_layers = 1, decoder_layers = 1, encoder_heads = 2, decoder_heads = 2,
  encoder_feed_forward = 32, decoder_feed_forward = 32 }}
optimizer = {{ learning_rate = 1e-2 }}
batches = {{ tokens = 300, buffer = 200, max_length = 60 }}
limits = {{ steps = 40 }}
validation = {{ every = 10, rows = 5 }}
checkpoints = {{ every = 5 }}
""".replace("\n  encoder", " encoder")
_FINETUNE = """
name = "killed"
model = "{home}/model"
train = ["{home}/pairs.jsonl"]
valid = ["{home}/pairs.jsonl"]
threads = 1
device = "cpu"
limits = {{ steps = 12 }}
validation = {{ every = 4 }}
checkpoints = {{ every = 2, export = "last" }}
"""
_METRIC = """
train = ["{home}/judged.tsv"]
dev = ["{home}/judged.tsv"]
encoder = "model"
model = "{home}/model"
kind = "bilstm"
hidden = 8
batch = 4
threads = 1
device = "cpu"
limits = {{ epochs = 8, patience = 20 }}
"""


def make_home(home: Path) -> None:
    """Everything that the commands read."""
    from prism_mt.corpus.shard_writer import ShardWriter
    from prism_mt.evaluation.ranking_pairs import RankedSegment, write_ranked

    model = make_model()
    write_model(model, home / "model")
    chance = random.Random(1)
    vocabulary = [word for sentence in SENTENCES for word in sentence.split()]
    for name, count in (
        ("text", 80),
        ("other", 80),
        ("few", 12),
    ):  # an untrained model ends no sentence: few will do
        lines = [" ".join(chance.choices(vocabulary, k=chance.randint(1, 6))) for _ in range(count)]
        (home / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (home / "corpus").mkdir()
    make_corpus(home / "corpus")
    with ShardWriter(home / "shards", model.source.sentencepiece, ["de", "en"], 4000) as writer:
        for number in range(150):
            pieces = [chance.randrange(20, 200) for _ in range(chance.randint(2, 12))]
            writer.add("valid" if number % 10 == 0 else "train", "de", "en", pieces, pieces[::-1])
    outputs = tuple(SENTENCES[number] for number in (1, 6, 11))
    pairs = ((0, 1), (0, 2))
    ranked = [
        RankedSegment("en-de", str(number), SENTENCES[number], SENTENCES[1], outputs, (0.0, -1.0, -5.0), pairs)
        for number in range(4)
    ]
    write_ranked(home / "pairs.jsonl", ranked)
    judged = [f"{SENTENCES[0]}\t{text}\t{chance.random():.3f}\n" for text in SENTENCES[:12]]
    (home / "judged.tsv").write_text("ref\thyp\tscore\n" + "".join(judged), encoding="utf-8")
    for name, text in (("train", _TRAIN), ("finetune", _FINETUNE), ("metric", _METRIC)):
        (home / f"{name}.toml").write_text(text.format(home=home))


def run(words: list[str], cache: str) -> None:
    """The command, in a process group of its own so that its workers can be killed with it."""
    from prism_mt.cli.main import main

    os.setpgrp()
    os.environ["PRISM_CACHE"] = cache
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    sys.exit(main(words))


class Killer:
    """Starts and kills one command."""

    def __init__(self, command: Long, home: Path, place: Path) -> None:
        self.command, self.home, self.place = command, home, place
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["hostile.preload"])

        process = self._context.Process(target=time.sleep, args=(0,))  # the server's imports are not measured
        process.start()
        process.join()

    def start(self, name: str) -> Any:
        """Start it with an output and a cache of this name."""
        out = self.place / name
        (out / "out").mkdir(parents=True, exist_ok=True)
        texts = f"--cand {self.home}/text --ref {self.home}/other --lang en --no-language-check {_SMALL}"
        line = self.command.words.format(home=self.home, out=out / "out", texts=texts, small=_SMALL)
        process = self._context.Process(target=run, args=(line.split(), str(out / "cache")))
        process.start()
        return process

    def undisturbed(self) -> float:
        """Run it to its end, and return the seconds that it took."""
        began = time.monotonic()
        process = self.start("calm")
        process.join()
        assert process.exitcode == 0, f"{self.command.name} fails undisturbed: exit {process.exitcode}"
        return time.monotonic() - began

    def kill(self, times: int, chance: random.Random, seconds: float) -> str:
        """Kill it so often, start anew whenever it gets through, and say what is wrong with a result, if anything."""
        kills = 0
        while kills < times:
            process = self.start("killed")
            process.join(chance.uniform(0, seconds))
            if process.exitcode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.kill()
                process.join()
                kills += 1
            elif wrong := self._ended(process):
                return wrong
        process = self.start("killed")
        process.join()
        return self._ended(process)

    def _ended(self, process: Any) -> str:
        if process.exitcode != 0:
            return f"exit {process.exitcode} after a kill"
        calm, killed = (self.place / name / "out" / self.command.result for name in ("calm", "killed"))
        wrong = differing(calm, killed, self.command.exact)
        shutil.rmtree(self.place / "killed")
        return wrong


def differing(calm: Path, killed: Path, exact: bool) -> str:
    """The first file that is not as it should be; empty where all are."""
    names = (
        [path.relative_to(calm) for path in sorted(calm.rglob("*")) if path.is_file()]
        if calm.is_dir()
        else [Path()]
    )
    for name in names:
        wanted, found = (place / name if calm.is_dir() else place for place in (calm, killed))
        if not found.exists():
            return f"{name} is missing"
        if not (_same if exact else _close)(wanted.read_bytes(), found.read_bytes()):
            return f"{found.name} differs"
    return ""


def _same(wanted: bytes, found: bytes) -> bool:
    return wanted == found


def _close(wanted: bytes, found: bytes) -> bool:
    numbers = [list(map(float, _NUMBER.findall(data))) for data in (wanted, found)]
    texts = [_NUMBER.sub(b"0", data) for data in (wanted, found)]
    return texts[0] == texts[1] and all(abs(one - other) < 1e-4 for one, other in zip(*numbers, strict=True))


def kill_all(kills: int, seed: int, report: Callable[[str], None], names: tuple[str, ...] = ()) -> int:
    """Kill every command so often in all, and return how many came to a wrong end."""
    failures = 0
    chosen = [command for command in COMMANDS if not names or command.name in names]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home.mkdir()
        make_home(home)
        for command in chosen:
            killer = Killer(command, home, Path(folder) / command.name.replace(" ", "-"))
            seconds = killer.undisturbed()
            each = -(-kills // len(chosen))
            wrong = killer.kill(each, random.Random(f"{command.name} {seed}"), seconds)
            failures += bool(wrong)
            report(f"{command.name}: {each} kills within {seconds:.1f} s: {wrong or 'nothing lost or doubled'}")
    return failures


def main() -> int:
    """Print one line per command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--command", nargs="*", default=[], help="only these")
    options = parser.parse_args()
    failures = kill_all(options.kills, options.seed, lambda line: print(line, flush=True), tuple(options.command))
    print(f"commands with a wrong end: {failures}")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
