"""Long commands, each with everything it reads, small enough that they take a second at most."""

import random
from dataclasses import dataclass
from pathlib import Path

from made import SENTENCES, make_model
from made_corpus import make_corpus

from prism_mt.models.directory import write_model


@dataclass(frozen=True)
class Long:
    """A command; {home} and {out} are folders, and `result` is the part of the output that counts."""

    name: str
    words: str
    result: str
    exact: bool = True
    rare: bool = False
    """Whether it takes long, so that one kill in ten must do."""


_PREPARE = "corpus prepare {home}/corpus/config.toml --root {home}/corpus --output {out}/x"
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
    Long("corpus prepare", _PREPARE + " --workers 1", "x"),
    Long("corpus prepare in processes", _PREPARE + " --workers 2", "x", rare=True),
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
SMALL = "--batch-tokens 400 --device cpu --threads 1"
_TRAIN = """
name = "killed"
data = "{home}/shards"
threads = 1
device = "cpu"
architecture = {{ width = 16, encoder_layers = 1, decoder_layers = 1, encoder_heads = 2, decoder_heads = 2,
  encoder_feed_forward = 32, decoder_feed_forward = 32 }}
optimizer = {{ learning_rate = 1e-2 }}
batches = {{ tokens = 300, buffer = 200, max_length = 60 }}
limits = {{ steps = 20 }}
validation = {{ every = 10, rows = 5 }}
checkpoints = {{ every = 4 }}
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
limits = {{ epochs = 5, patience = 20 }}
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
        ("few", 5),
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
