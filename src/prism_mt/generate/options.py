"""Search options, declared only here."""

from dataclasses import dataclass, fields
from typing import ClassVar, Literal

from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, default_of, option, option_of

Method = Literal["beam", "diverse", "sample", "penalty"]
PenaltyForm = Literal["subtract", "average"]

_METHOD_OF: dict[str, Method] = {
    "groups": "diverse",
    "strength": "diverse",
    "temperature": "sample",
    "top_k": "sample",
    "top_p": "sample",
    "seed": "sample",
    "penalty_scale": "penalty",
    "penalty_power": "penalty",
    "penalty_form": "penalty",
}
"""Options specific to one method."""


@dataclass(frozen=True, kw_only=True)
class SearchConfig(Config):
    """Search and sampling options."""

    TITLE: ClassVar[str] = "search options"

    method: Method = option(
        "beam: the most probable texts; diverse: diverse beam search in groups; penalty: beam search "
        "that avoids the input's n-grams; sample: random sampling",
        "beam",
    )
    n: int = option(
        "hypotheses per input, all different (samples: as drawn)",
        1,
        flags=("-n",),
        metavar="N",
        low=1,
        high=100_000,
    )
    beam: int | None = option(
        "hypotheses kept at each step (default: 100 for diverse, otherwise 5, or N if larger; doubled up to twice "
        "if they yield fewer than N different texts)",
        None,
        metavar="B",
        low=1,
        high=100_000,
    )
    groups: int = option("diverse: number of beam groups", 10, metavar="G", low=1)
    strength: float = option(
        "diverse: cost of a token for each time it is among the candidates of earlier groups at the same step",
        1.0,
        metavar="S",
        low=0,
        high=1000,
    )
    temperature: float = option("sample: divides the logits", 1.0, metavar="T", low=1e-3, high=1e3)
    top_k: int = option("sample: draw only from the K most probable tokens; 0: all", 0, metavar="K", low=0)
    top_p: float = option(
        "sample: draw from the smallest set of tokens with total probability P", 1.0, metavar="P", low=1e-9, high=1
    )
    seed: int = option("sample: another seed gives other samples", 0, metavar="N", low=0, high=2**63 - 1)
    penalty_scale: float = option(
        "penalty: a in the cost a·n^b of starting the last word of an n-gram of the input",
        0.006,
        metavar="A",
        low=0,
        high=1000,
    )
    penalty_power: float = option("penalty: b in the cost a·n^b", 4.0, metavar="B", low=-10, high=10)
    penalty_form: PenaltyForm = option(
        "penalty: subtract the cost from log p, or average p with e^-cost as the released tool does", "subtract"
    )
    length_penalty: float = option(
        "sums of log-probabilities are divided by length to this power", 1.0, metavar="P", low=-10, high=10
    )
    max_length: int | None = option(
        "maximum output length in tokens, including tag and end (default: about twice the length of the input)",
        None,
        metavar="N",
        low=3,
        high=1_000_000,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in fields(self):
            method = _METHOD_OF.get(field.name, self.method)
            if method != self.method and getattr(self, field.name) != default_of(field):
                raise PrismError(
                    f"`{field.name}=` is an option of the method {method}, but the method is {self.method}"
                )
        if self.method != "sample" and self.n > self.beams:
            raise PrismError(f"a beam of {self.beams} cannot yield {self.n} hypotheses: set a larger `beam=`")
        if self.method == "diverse" and self.beams % self.groups:
            raise PrismError(f"{self.groups} groups do not divide a beam of {self.beams}")

    @property
    def beams(self) -> int:
        """Hypotheses kept at each step."""
        if self.beam is not None:
            return self.beam
        return 100 if self.method == "diverse" else max(5, self.n)

    @property
    def width(self) -> int:
        """Rows per segment in a batch."""
        return self.n if self.method == "sample" else self.beams

    def signature(self) -> str:
        """Return everything that changes the result in a few characters: `diverse-b30-g10-s1-lp1`."""
        parts: list[str] = [self.method]
        if self.method == "sample":
            parts += [f"t{self.temperature:g}", f"k{self.top_k}", f"p{self.top_p:g}", f"gumbel{self.seed}"]
        else:
            parts.append(f"b{self.beams}")
        if self.method == "diverse":
            parts += [f"g{self.groups}", f"s{self.strength:g}"]
        if self.method == "penalty":
            parts += [f"a{self.penalty_scale:g}", f"e{self.penalty_power:g}", self.penalty_form]
        parts.append(f"lp{self.length_penalty:g}")
        if self.max_length is not None:
            parts.append(f"max{self.max_length}")
        return "-".join(parts)


@dataclass(frozen=True, kw_only=True)
class ParaphraseConfig(SearchConfig):
    """The same for paraphrases, where plain beam search would often copy its input."""

    method: Method = option_of(SearchConfig, "method", "penalty")
