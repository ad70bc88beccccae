"""`prism translate`: texts into another language."""

from dataclasses import dataclass
from pathlib import Path

from prism_mt._core.arguments import Command
from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option
from prism_mt.engines.config import EngineConfig
from prism_mt.generate.nbest import ListFormat
from prism_mt.generate.options import SearchConfig
from prism_mt.generate.texts import open_translator
from prism_mt.models.resolve import DEFAULT_MODEL
from prism_mt.text.lines import open_lines
from prism_mt.text.testsets import is_testset, open_testset


@dataclass(frozen=True, kw_only=True)
class NBestOptions(Config):
    """Options of every command that writes n-best lists."""

    model: str = option(
        "model: a folder, the original layout as folder or tar, hf:ORG/NAME, or a name of `prism models list`",
        DEFAULT_MODEL,
        metavar="M",
    )
    format: ListFormat = option(
        "text: a hypothesis per line; tsv: line, rank, score, hypothesis; jsonl: an object per input", "text"
    )
    output: Path | None = option(
        "write here instead of standard output; until all is done, FILE.partial holds the results so far, and the "
        "same command resumes from there",
        None,
        flags=("-o",),
        metavar="FILE",
    )


@dataclass(frozen=True, kw_only=True)
class TextOptions(NBestOptions):
    """Options of every command that generates from plain text."""

    file: str = option(
        "text, one input per line (default: standard input); .gz and .xz are decompressed", "-", positional=True
    )


@dataclass(frozen=True, kw_only=True)
class TranslateOptions(TextOptions):
    """Options of `prism translate`."""

    to: str | None = option("language to translate into: code or name", None, flags=("-t",), metavar="XX")
    src_lang: str | None = option(
        "language of the input, where the model needs it", None, flags=("--from",), metavar="XX"
    )


def run(options: TranslateOptions, search: SearchConfig, engine: EngineConfig) -> None:
    """Translate, and write the translations."""
    to, source = options.to, options.src_lang
    if is_testset(options.file):
        side = open_testset(options.file, "src", engine.offline)
        [texts] = side.lines
        to, source = to or side.language, source or side.source_language
    else:
        texts = open_lines(options.file)
    if to is None:
        raise PrismError("the language to translate into is not known: give `to=`")
    translator = open_translator(to=to, src_lang=source, model=options.model, search=search, config=engine)
    translator.write(texts, "translations", options.format, options.output)


COMMAND = Command(
    "translate",
    "Translate texts by beam search, diverse beam search, or sampling.",
    (TranslateOptions, SearchConfig, EngineConfig),
    run,
    epilog="""examples:
  prism translate --to de input.txt -o output.txt
  prism translate --to de --from en --model hf:facebook/m2m100_418M -n 5 --format jsonl < input.txt
  prism translate --to de --method sample -n 32 --top-p 0.95 --seed 7 --format jsonl input.txt
""",
)
