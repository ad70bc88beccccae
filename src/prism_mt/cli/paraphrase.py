"""`prism paraphrase`: say the same in other words."""

from dataclasses import dataclass

from prism_mt._core.arguments import Command, option
from prism_mt._core.errors import PrismError
from prism_mt.cli.translate import BeamOptions, write_generated
from prism_mt.generate.generator import Generator
from prism_mt.generate.options import Method, PenaltyForm, SearchOptions
from prism_mt.text.lines import open_lines


@dataclass
class ParaphraseOptions(BeamOptions):
    """Options of `prism paraphrase`."""

    lang: str | None = option("language of the input: code or name", None, flags=("-l",), metavar="XX")
    method: Method = option(
        "beam: the most probable, which often copy the input; penalty: beam search that avoids the input's n-grams; "
        "diverse: beams in groups that differ from each other; sample: drawn at random",
        "penalty",
        flags=("-m",),
    )
    beam: int | None = option(
        "hypotheses kept at each step (default: 5, or N if larger; 100 for diverse)", None, metavar="B"
    )
    groups: int = option("diverse: groups that the beam is divided into", 10, metavar="G")
    strength: float = option("diverse: cost of a token that a beam of an earlier group takes", 1.0, metavar="S")
    temperature: float = option("sample: divides the logits", 1.0, metavar="T")
    top_k: int = option("sample: draw from the K most probable tokens only; 0 means all", 0, metavar="K")
    top_p: float = option("sample: draw from the fewest tokens that together have probability P", 1.0, metavar="P")
    seed: int = option("sample: another seed gives other samples", 0, metavar="N")
    penalty_scale: float = option("penalty: a in the cost a·n^b of starting the next word of an n-gram", 0.006)
    penalty_power: float = option("penalty: b in the cost a·n^b", 4.0)
    penalty_form: PenaltyForm = option(
        "penalty: subtract the cost from log p, or average p with e^-cost as the released tool does", "subtract"
    )


_METHOD_OF = {
    **dict.fromkeys(("groups", "strength"), "diverse"),
    **dict.fromkeys(("temperature", "top_k", "top_p", "seed"), "sample"),
    **dict.fromkeys(("penalty_scale", "penalty_power", "penalty_form"), "penalty"),
}


def run(options: ParaphraseOptions) -> None:
    """Paraphrase, and write the paraphrases."""
    for name, method in _METHOD_OF.items():
        if method != options.method and getattr(options, name) != getattr(ParaphraseOptions, name):
            flag = name.replace("_", "-")
            raise PrismError(f"--{flag} belongs to --method {method}, and the method is {options.method}")
    search = SearchOptions(
        options.method,
        options.n,
        options.beam,
        options.groups,
        options.strength,
        options.temperature,
        options.top_k,
        options.top_p,
        options.seed,
        options.penalty_scale,
        options.penalty_power,
        options.penalty_form,
        options.length_penalty,
        options.max_length,
    )
    texts = open_lines(options.file)
    if options.lang is None:
        raise PrismError("say which language the input is in: --lang XX")
    generator = Generator(options.open(), options.engine_for(options.method), search)
    write_generated(generator, generator.route(options.lang, options.lang), texts, options, "paraphrases")


COMMAND = Command(
    "paraphrase",
    "Paraphrase texts with a translation model that goes from a language into the same language.",
    ParaphraseOptions,
    run,
    epilog="""examples:
  prism paraphrase --lang en input.txt
  prism paraphrase --lang en --method diverse -n 25 --format jsonl references.txt -o paraphrases.jsonl
  prism paraphrase --lang de --method sample -n 10 --top-p 0.9 --seed 7 < input.txt
""",
)
