"""Every reader of the package, each with a valid sample that is damaged in all ways: a new reader is one line here."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hostile import folders, model_samples, samples
from hostile.mutators import assemble, damage, damage_json
from hostile.samples import PARTS


@dataclass(frozen=True)
class Reader:
    """A reader, the maker of its sample (a file or a folder), and a command that reads the same thing."""

    name: str
    make: Callable[[Path], Path]
    read: Callable[[Path], Any]
    command: tuple[str, ...] = ()
    """The words of a command; {} is the path."""
    files: tuple[str, ...] = ()
    """Files of a folder that are damaged; all where none is named."""


def _parts(name: str) -> Callable[[Path], Path]:
    return lambda folder: samples.write(folder / name, b"".join(PARTS[name]))


_JUDGED = ("metaeval", "{}", "--metric", "chrf", "--pairs", "de-en", "--test", "none")
_SCORE = ("score", "--metric", "chrf", "--no-language-check", "--cand", "{}", "--ref", "{}")
READERS = (
    *(Reader(name, _parts(name), samples.read_judged, _JUDGED) for name in samples.JUDGED),
    *(Reader(name, _parts(name), samples.read_corpus) for name in samples.BITEXT),
    Reader(
        "lists.jsonl",
        _parts("lists.jsonl"),
        samples.read_lists,
        ("rerank", "{}", "--metric", "chrf", "--lang", "en"),
    ),
    Reader("lines.txt", samples.lines, samples.read_lines, _SCORE),
    Reader("lines.txt.gz", samples.packed_lines, samples.read_lines, _SCORE),
    Reader(
        "fields.tsv",
        samples.fields,
        samples.read_fields,
        ("score", "--metric", "chrf", "-i", "{}", "--fields", "ref", "cand"),
    ),
    Reader(
        "fields.jsonl", samples.json_fields, samples.read_json_fields, ("score", "--metric", "chrf", "-i", "{}")
    ),
    Reader("train.toml", samples.train_toml, samples.read_train_toml, ("train", "{}")),
    Reader("finetune.toml", samples.finetune_toml, samples.read_finetune_toml, ("finetune", "{}")),
    Reader("metric.toml", samples.metric_toml, samples.read_metric_toml, ("metric", "train", "{}")),
    Reader("corpus.toml", samples.corpus_toml, samples.read_corpus_toml, ("corpus", "prepare", "{}")),
    Reader("judged.tsv", samples.judged_outputs, samples.read_judged_outputs),
    Reader("bias.tsv", samples.paraphrases, samples.read_paraphrases, ("metaeval", "bias", "{}")),
    Reader("scores.prism", samples.scores, samples.read_scores),
    Reader("model directory", model_samples.model, model_samples.read_model, ("models", "show", "{}")),
    Reader("fairseq", model_samples.fairseq, model_samples.read_fairseq, ("models", "digest", "{}")),
    Reader("fairseq.tar", model_samples.fairseq_tar, model_samples.read_fairseq, ("models", "digest", "{}")),
    Reader("checkpoint.pt", model_samples.legacy_checkpoint, model_samples.read_pickle),
    *(
        Reader(family, model_samples.huggingface(family), model_samples.read_huggingface)
        for family in model_samples.FAMILIES
    ),
    Reader(
        "bert",
        model_samples.bert,
        model_samples.read_bert,
        files=("config.json", "model.safetensors", "tokenizer.json"),
    ),
    Reader("gpt", folders.language_model, folders.read_language_model, files=("config.json", "model.safetensors")),
    Reader("e5", folders.e5, folders.read_e5),
    Reader("learned metric", folders.learned_metric, folders.read_learned_metric),
    Reader("judged folder", folders.judged_folder, folders.read_judged_folder),
    Reader("pairs.jsonl", folders.ranked_segments, folders.read_ranked_segments),
    Reader("shards", samples.shards, samples.read_shards),
    Reader("cache", samples.cache, samples.read_cache),
    Reader("manifest", samples.manifest, samples.read_manifest),
    Reader("request", samples.request, samples.read_request),
)


def targets(reader: Reader, sample: Path) -> list[Path]:
    """The files that are damaged."""
    if sample.is_file():
        return [sample]
    found = sorted(path for path in sample.rglob("*") if path.is_file())
    return [path for path in found if not reader.files or path.name in reader.files]


def hostile(reader: Reader, path: Path, data: bytes, chance: random.Random) -> bytes:
    """The content of a damaged file."""
    if reader.name in PARTS and chance.random() < 0.6:
        return assemble(PARTS[reader.name], chance)
    if path.suffix in (".json", ".request") and chance.random() < 0.7:
        return damage_json(data, chance)
    return damage(data, chance)
