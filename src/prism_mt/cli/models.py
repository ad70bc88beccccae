"""`prism models`: list, inspect, fetch and convert models."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from prism_mt._core.arguments import Command, Group
from prism_mt._core.errors import PrismError
from prism_mt._core.files import path_of
from prism_mt._core.options import Config, option, suggestion
from prism_mt._core.terminal import printable
from prism_mt.cli.output import terminal_width
from prism_mt.models import huggingface, zoo
from prism_mt.models.directory import ModelDirectory, is_model_directory, write_model
from prism_mt.models.download import fetch
from prism_mt.models.resolve import DEFAULT_MODEL, downloaded, is_here, open_model, read_foreign
from prism_mt.models.spec import weight_shapes
from prism_mt.models.storage import Storage
from prism_mt.report.table import Column, Table, render

Format = Literal["text", "tsv", "json"]


@dataclass(frozen=True)
class ListOptions(Config):
    """Options of `prism models list`."""

    format: Format = option("output format", "text")


@dataclass(frozen=True)
class NameOptions(Config):
    """Options of the commands that take one model."""

    model: str = option("folder, tar, hf:ORG/NAME or a name in the catalog", DEFAULT_MODEL, positional=True)
    offline: bool = option("never use the network", False)


@dataclass(frozen=True)
class ShowOptions(NameOptions):
    """Options of `prism models show`."""

    format: Format = option("output format", "text")


@dataclass(frozen=True)
class GetOptions(Config):
    """Options of `prism models get`."""

    name: str = option("a model of the catalog, or hf:ORG/NAME", positional=True)
    address: str | None = option("fetch it from here instead of the catalog's address", None, metavar="URL")


@dataclass(frozen=True)
class ConvertOptions(Config):
    """Options of `prism models convert`."""

    model: str = option(
        "model directory, folder or tar in the original layout, Hugging Face folder, or hf:ORG/NAME",
        positional=True,
    )
    output: Path = option("the model directory to write", positional=True)
    name: str | None = option("name of the model in signatures (default: the output's name)", None)
    dtype: Storage = option("how weights are stored: int8 has a scale per row, int4 one per 32 values", "float32")
    offline: bool = option("never use the network", False)


def run_list(options: ListOptions) -> None:
    """Print the catalog, and which of its models are on this machine."""
    titles = ["name", "what", "languages", "parameters", "license", "here", "from"]
    rows = [
        (
            model.name,
            model.what,
            _languages(model.languages.split()) if " " in model.languages else model.languages,
            model.parameters,
            model.license,
            "yes" if is_here(model) else "",
            model.source,
        )
        for model in zoo.CATALOG
    ]
    table = Table(tuple(map(Column, titles)), tuple(rows))
    if options.format == "text":  # addresses are too long for a line of a terminal
        columns, notes = table.columns[:-1], ("`prism models show NAME` tells where a model comes from",)
        table = Table(columns, tuple(row[:-1] for row in rows), notes=notes)
    print(render(table, options.format, terminal_width()), end="")


def run_show(options: ShowOptions) -> None:
    """Print a model's architecture, conventions, languages, files and digest, or else its catalog entry."""
    if absent := _absent(options.model):
        print(
            render(Table((Column("what"), Column("value")), tuple(absent)), options.format, terminal_width()),
            end="",
        )
        return
    model = open_model(options.model, options.offline)
    a = model.spec.architecture
    rows = [
        ("name", model.spec.name),
        ("folder", str(model.folder)),
        ("read from", model.spec.origin),
        ("digest", model.digest),
        ("digest of the original files", model.spec.origin_digest or "—"),
        ("parameters", f"{_parameters(model):,}"),
        (
            "layers",
            f"{a.encoder_layers}+{a.decoder_layers}, {a.norm}-norm, {a.activation}, {a.positions} positions",
        ),
        ("width", f"{a.width}, {a.encoder_heads} heads, feed-forward {a.encoder_feed_forward}"),
        ("vocabulary", f"{a.source_vocabulary:,} → {a.target_vocabulary:,}"),
        ("longest sequence", f"{a.max_positions:,} tokens"),
        ("source side", " ".join(model.spec.conventions.source)),
        ("target side", " ".join(model.spec.conventions.target)),
        ("languages", f"{len(model.spec.languages)}: {' '.join(sorted(model.spec.languages))}"),
    ]
    print(render(Table((Column("what"), Column("value")), tuple(rows)), options.format, terminal_width()), end="")


def _absent(name: str) -> list[tuple[str, str]]:
    """Return what the catalog says about a model that is not on this machine; empty for all others."""
    known = zoo.find(name) or next((model for model in zoo.CATALOG if model.source == name), None)
    if known is None and name.startswith("hf:") and not huggingface.is_fetched(name[3:]):
        return [("name", name), ("here", "no"), ("to get it", f"prism models get {name}")]
    if known is None or is_here(known) or Path(name).exists():
        return []
    codes = known.languages.split()
    return [
        ("name", known.name),
        ("what", known.what),
        ("here", "no"),
        ("from", known.source),
        ("parameters", known.parameters),
        ("size", f"about {known.gigabytes:.1f} GB in float32"),
        ("languages", f"{len(codes)}: {known.languages}" if len(codes) > 1 else known.languages),
        ("license", known.license),
        ("to get it", f"prism models get {known.name}"),
    ]


def run_get(options: GetOptions) -> None:
    """Download a model of the catalog or the Hugging Face hub, check its digest, convert it."""
    if options.name.startswith("hf:"):
        model = open_model(options.name)
        print(f"{options.name}: {model.folder} ({model.digest[:12]})")
        return
    known = zoo.find(options.name)
    if known is None:
        names = [model.name for model in zoo.CATALOG]
        raise PrismError(
            f"no model {options.name!r} in the catalog, and no hf:ORG/NAME{suggestion(options.name, names)}"
        )
    if not known.downloadable and options.address is None:
        model = open_model(known.source)
    else:
        model = fetch(known, downloaded(known.name), options.address or known.source)
    print(printable(f"{known.name}: {model.folder} ({model.digest[:12]})"))


def run_convert(options: ConvertOptions) -> None:
    """Convert a foreign model to our model directory format."""
    from dataclasses import replace

    if options.model.startswith("hf:"):
        read = read_foreign(huggingface.fetch(options.model[3:], offline=options.offline))
    else:
        path = path_of(options.model)
        if not path.exists():
            raise PrismError(f"no such file or folder: {path}")
        read = ModelDirectory(path).load() if is_model_directory(path) else read_foreign(path)
    named = replace(read, spec=replace(read.spec, name=options.name or options.output.name))
    model = write_model(named, options.output, options.dtype)
    print(printable(f"{model.folder}: {_parameters(model):,} parameters, digest {model.digest[:12]}"))


def run_digest(options: NameOptions) -> None:
    """Check every file against its hash and print the digest."""
    model = open_model(options.model, options.offline)
    model.verify()
    print(model.digest)


def _parameters(model: ModelDirectory) -> int:
    return sum(math.prod(shape) for _, shape in weight_shapes(model.spec.architecture))


def _languages(codes: list[str]) -> str:
    return " ".join(codes) if len(codes) <= 4 else str(len(codes))


COMMAND = Group(
    "models",
    "List, inspect, download and convert models.",
    (
        Command("list", "List known models.", (ListOptions,), run_list),
        Command("show", "Show a model's architecture, languages, files and digest.", (ShowOptions,), run_show),
        Command(
            "get",
            "Download a model of the catalog or hf:ORG/NAME (resumes, checks the digest).",
            (GetOptions,),
            run_get,
        ),
        Command(
            "convert",
            "Convert a fairseq or Hugging Face model, or store the weights of any model in half precision.",
            (ConvertOptions,),
            run_convert,
        ),
        Command("digest", "Check a model's files and print its digest.", (NameOptions,), run_digest),
    ),
)
