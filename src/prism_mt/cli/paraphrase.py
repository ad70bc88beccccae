"""`prism paraphrase`: paraphrase texts."""

from dataclasses import dataclass

from prism_mt._core.arguments import Command
from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option
from prism_mt.cli.translate import GenerateOptions
from prism_mt.engines.factory import EngineConfig
from prism_mt.generate.options import ParaphraseConfig
from prism_mt.generate.texts import open_paraphraser
from prism_mt.text.lines import open_lines


@dataclass(frozen=True)
class ParaphraseOptions(Config):
    """Options of `prism paraphrase`."""

    lang: str | None = option("language of the input: code or name", None, flags=("-l",), metavar="XX")


def run(
    options: ParaphraseOptions, given: GenerateOptions, search: ParaphraseConfig, engine: EngineConfig
) -> None:
    """Paraphrase, and write the paraphrases."""
    texts = open_lines(given.file)
    if options.lang is None:
        raise PrismError("set the language of the input: --lang XX")
    opened = open_paraphraser(lang=options.lang, model=given.model, search=search, config=engine)
    opened.write(texts, "paraphrases", given.format, given.output)


COMMAND = Command(
    "paraphrase",
    "Paraphrase texts with a translation model that translates a language into itself.",
    (ParaphraseOptions, GenerateOptions, ParaphraseConfig, EngineConfig),
    run,
    epilog="""examples:
  prism paraphrase --lang en input.txt
  prism paraphrase --lang en --method diverse -n 25 --format jsonl references.txt -o paraphrases.jsonl
  prism paraphrase --lang de --method sample -n 10 --top-p 0.9 --seed 7 < input.txt
""",
)
