"""`prism translate`: translate texts."""

from dataclasses import dataclass

from prism_mt._core.arguments import Command
from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option
from prism_mt.cli.output import ListOptions
from prism_mt.engines.factory import EngineConfig
from prism_mt.generate.options import SearchConfig
from prism_mt.generate.texts import open_translator
from prism_mt.models.resolve import DEFAULT_MODEL
from prism_mt.text.lines import open_lines
from prism_mt.text.testsets import is_testset, open_testset


@dataclass(frozen=True, kw_only=True)
class GenerateOptions(ListOptions):
    """Input, model and output options of every command that generates text."""

    file: str = option(
        "text, one input per line (default: standard input); .gz and .xz are decompressed", "-", positional=True
    )
    model: str = option(
        "model: a folder, the original layout as folder or tar, hf:ORG/NAME, or a name from `prism models list`",
        DEFAULT_MODEL,
        metavar="M",
    )


@dataclass(frozen=True, kw_only=True)
class TranslateOptions(Config):
    """Options of `prism translate`."""

    to: str | None = option("language to translate into: code or name", None, flags=("-t", "--lang"), metavar="XX")
    src_lang: str | None = option(
        "language of the input, if the model needs it", None, flags=("--from",), metavar="XX"
    )


def run(options: TranslateOptions, given: GenerateOptions, search: SearchConfig, engine: EngineConfig) -> None:
    """Translate, and write the translations."""
    to, source = options.to, options.src_lang
    if is_testset(given.file):
        side = open_testset(given.file, "src", engine.offline)
        [texts] = side.lines
        to, source = to or side.language, source or side.source_language
    else:
        texts = open_lines(given.file)
    if to is None:
        raise PrismError("set the language to translate into: --to XX")
    opened = open_translator(to=to, src_lang=source, model=given.model, search=search, config=engine)
    opened.write(texts, "translations", given.format, given.output)


COMMAND = Command(
    "translate",
    "Translate texts: beam search, n-best lists, or samples.",
    (TranslateOptions, GenerateOptions, SearchConfig, EngineConfig),
    run,
    epilog="""examples:
  prism translate --to de input.txt -o output.txt
  prism translate --to de --from en --model hf:facebook/m2m100_418M -n 5 --format jsonl < input.txt
  prism translate --to de --method sample -n 10 --top-p 0.9 < input.txt
""",
)
