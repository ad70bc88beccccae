"""`prism translate`: texts into another language. Its options are those of every command that generates."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from prism_mt._core.arguments import Command, option
from prism_mt._core.errors import PrismError
from prism_mt._core.progress import counter
from prism_mt.cli.compute import ComputeOptions
from prism_mt.engines.factory import EngineOptions
from prism_mt.generate.generator import Generator, Route
from prism_mt.generate.nbest import ListFormat, ListKind, Record, write_lists
from prism_mt.generate.options import Method, SearchOptions
from prism_mt.models.directory import ModelDirectory
from prism_mt.models.resolve import DEFAULT_MODEL, open_model
from prism_mt.text.lines import Lines, open_lines
from prism_mt.text.testsets import is_testset, open_testset


@dataclass
class ModelOptions(ComputeOptions):
    """Which model, on what, and where the output goes."""

    model: str = option(
        "model: a folder, the original layout as folder or tar, hf:ORG/NAME, or a name of `prism models list`",
        DEFAULT_MODEL,
        metavar="M",
    )
    format: ListFormat = option(
        "text: a hypothesis a line; tsv: line, rank, score, hypothesis; jsonl: an object per input", "text"
    )
    output: Path | None = option(
        "write here instead of standard output; until all is done, FILE.partial has what there is, and the same "
        "command goes on from there",
        None,
        flags=("-o",),
        metavar="FILE",
    )

    def engine_for(self, method: Method) -> EngineOptions:
        """The engine that was asked for, or the one that suits the method."""
        if method != "beam" and self.engine != "ct2" and self.quantization != "float32":
            raise PrismError("only beam search can run in other number formats: leave out --quantization")
        return self.engine_options("ct2" if method == "beam" else "torch")

    def open(self) -> ModelDirectory:
        """The model's directory."""
        return open_model(self.model, self.offline)


@dataclass
class BeamOptions(ModelOptions):
    """What beam search needs."""

    file: str = option(
        "text, a line per input (default: standard input); .gz and .xz are unpacked", "-", positional=True
    )
    n: int = option("hypotheses per input", 1, flags=("-n",), metavar="N")
    beam: int | None = option("hypotheses kept at each step (default: 5, or N if larger)", None, metavar="B")
    length_penalty: float = option("scores are divided by length to this power", 1.0, metavar="P")
    max_length: int | None = option(
        "longest output in tokens (default: about twice the length of the input)", None, metavar="N"
    )


@dataclass
class TranslateOptions(BeamOptions):
    """Options of `prism translate`."""

    to: str | None = option("language to translate into: code or name", None, flags=("-t",), metavar="XX")
    src_lang: str | None = option(
        "language of the input, where the model needs it", None, flags=("--from",), metavar="XX"
    )


def run(options: TranslateOptions) -> None:
    """Translate, and write the translations."""
    search = SearchOptions(
        "beam", options.n, options.beam, length_penalty=options.length_penalty, max_length=options.max_length
    )
    to, source = options.to, options.src_lang
    if is_testset(options.file):
        side = open_testset(options.file, "src")
        [texts] = side.lines
        to, source = to or side.language, source or side.source_language
    else:
        texts = open_lines(options.file)
    if to is None:
        raise PrismError("say which language to translate into: --to XX")
    generator = Generator(options.open(), options.engine_for("beam"), search)
    write_generated(generator, generator.route(to, source), texts, options, "translations")


def write_generated(
    generator: Generator, route: Route, texts: Lines, options: ModelOptions, kind: ListKind
) -> None:
    """Generate for all texts, from where an earlier run was killed, with a progress bar."""
    count = texts.count()
    if count == 0:
        raise PrismError(f"{texts.name} is empty: there is nothing to do")
    generator.check(texts, route, lambda place: f"{texts.name}, line {place + 1}")
    search, engine = generator.options, generator.engine_options
    settings = (search.signature(), search.n, route, engine.engine, engine.quantization)
    run = fingerprint(texts, kind, generator.model.digest, *settings)
    with counter(f"writing {kind}", count) as advance:

        def records(done: int) -> Iterator[Record]:
            for _ in range(done):
                advance()
            sources = islice(iter(texts), done, None)
            found = generator.generate(
                islice(iter(texts), done, None), route, lambda place: f"{texts.name}, line {done + place + 1}"
            )
            for source, hypotheses in zip(sources, found, strict=True):
                yield Record(source, hypotheses)
                advance()

        write_lists(options.output, kind, options.format, run, records)


def fingerprint(texts: Lines, *settings: object) -> str:
    """What a run depends on: all of its input, and its settings."""
    digest = hashlib.sha256(json.dumps(settings).encode())
    for text in texts:
        digest.update(text.encode() + b"\n")
    return digest.hexdigest()


COMMAND = Command(
    "translate",
    "Translate texts with beam search.",
    TranslateOptions,
    run,
    epilog="""examples:
  prism translate --to de input.txt -o output.txt
  prism translate --to de --from en --model hf:facebook/m2m100_418M -n 5 --format jsonl < input.txt
""",
)
