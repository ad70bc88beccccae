"""`prism paraphrase`: say the same in other words."""

from dataclasses import dataclass

from prism_mt._core.arguments import Command
from prism_mt._core.errors import PrismError
from prism_mt._core.options import option
from prism_mt.cli.translate import TextOptions
from prism_mt.engines.config import EngineConfig
from prism_mt.generate.options import ParaphraseConfig
from prism_mt.generate.texts import open_paraphraser
from prism_mt.text.lines import open_lines


@dataclass(frozen=True, kw_only=True)
class ParaphraseOptions(TextOptions):
    """Options of `prism paraphrase`."""

    lang: str | None = option("language of the input: code or name", None, flags=("-l",), metavar="XX")


def run(options: ParaphraseOptions, search: ParaphraseConfig, engine: EngineConfig) -> None:
    """Paraphrase, and write the paraphrases."""
    texts = open_lines(options.file)
    if options.lang is None:
        raise PrismError("the language of the input is not known: give `lang=`")
    paraphraser = open_paraphraser(lang=options.lang, model=options.model, search=search, config=engine)
    paraphraser.write(texts, "paraphrases", options.format, options.output)


COMMAND = Command(
    "paraphrase",
    "Paraphrase texts with a translation model that goes from a language into the same language.",
    (ParaphraseOptions, ParaphraseConfig, EngineConfig),
    run,
    epilog="""examples:
  prism paraphrase --lang en input.txt
  prism paraphrase --lang en --method diverse -n 25 --format jsonl references.txt -o paraphrases.jsonl
  prism paraphrase --lang de --method sample -n 10 --top-p 0.9 --seed 7 < input.txt
""",
)
