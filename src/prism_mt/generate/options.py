"""How a model is searched, as data."""

from dataclasses import dataclass
from typing import Literal

from prism_mt._core.errors import PrismError

Method = Literal["beam", "diverse", "sample", "penalty"]
PenaltyForm = Literal["subtract", "average"]


@dataclass(frozen=True)
class SearchOptions:
    """What to look for and how. Only the fields of the chosen method have an effect."""

    method: Method = "beam"
    n: int = 1
    """Hypotheses per sentence."""
    beam: int | None = None
    """Hypotheses kept at each step; None means 100 for `diverse`, else 5, or `n` where that is larger."""
    groups: int = 10
    """`diverse`: groups that the beam is divided into."""
    strength: float = 1.0
    """`diverse`: what a token costs for every beam of an earlier group that takes it at the same step."""
    temperature: float = 1.0
    """`sample`: divides the logits."""
    top_k: int = 0
    """`sample`: draw from the k most probable tokens only; 0 means from all."""
    top_p: float = 1.0
    """`sample`: draw from the fewest tokens that together have this probability."""
    seed: int = 0
    penalty_scale: float = 0.006
    """`penalty`: a in a·n^b, the cost of starting the last word of an n-gram of the input."""
    penalty_power: float = 4.0
    """`penalty`: b in a·n^b."""
    penalty_form: PenaltyForm = "subtract"
    """`subtract` takes the penalty off log p; `average` is ln((p + e^-penalty) / 2), as the released tool has it."""
    length_penalty: float = 1.0
    """Scores are sums of log-probabilities over length to this power."""
    max_length: int | None = None
    """Longest output in tokens, tag and end included; None allows about twice the length of the input."""

    def __post_init__(self) -> None:
        for name, value in (
            ("number of hypotheses", self.n),
            ("beam", self.beams),
            ("number of groups", self.groups),
        ):
            if value < 1:
                raise PrismError(f"the {name} must be at least 1, not {value}")
        if self.method != "sample" and self.n > self.beams:
            raise PrismError(f"a beam of {self.beams} cannot give {self.n} hypotheses: give a larger --beam")
        if self.method == "diverse" and self.beams % self.groups:
            raise PrismError(f"{self.groups} groups do not divide a beam of {self.beams}")
        if self.top_k < 0 or not 0 < self.top_p <= 1:
            raise PrismError("sampling needs a top-k of 0 (all) or more and a top-p above 0 and at most 1")
        for what, number, low, high in (
            ("temperature", self.temperature, 1e-3, 1e3),
            ("diversity strength", self.strength, 0.0, 1e3),
            ("scale of the copy penalty", self.penalty_scale, 0.0, 1e3),
            ("power of the copy penalty", self.penalty_power, -10.0, 10.0),
            ("length penalty", self.length_penalty, -10.0, 10.0),
        ):
            if not low <= number <= high:
                raise PrismError(f"the {what} must be between {low:g} and {high:g}, not {number:g}")
        if self.max_length is not None and self.max_length < 3:
            raise PrismError(f"the largest length must be at least 3 tokens, not {self.max_length}")

    @property
    def beams(self) -> int:
        """The beam that is used when none is given, too."""
        if self.beam is not None:
            return self.beam
        return 100 if self.method == "diverse" else max(5, self.n)

    @property
    def width(self) -> int:
        """Rows that one sentence takes in a batch."""
        return self.n if self.method == "sample" else self.beams

    def signature(self) -> str:
        """All that changes the result, in a few characters: `diverse-b30-g10-s1-lp1`."""
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
