"""The cosine of sentence vectors, as the LASER baseline of Thompson & Post 2020 has it, with any sentence encoder."""

from collections.abc import Sequence

from prism_mt.encoders.languages import check_languages, check_source
from prism_mt.encoders.sentence import SentenceEncoder
from prism_mt.metrics.averaged import AveragedMetric, Reduction
from prism_mt.metrics.base import Side, sign


class SentenceMetric(AveragedMetric):
    """How close the output is to its reference, or to its source, which needs an encoder of both languages."""

    def __init__(
        self,
        name: str,
        side: Side,
        encoder: SentenceEncoder,
        encoder_name: str,
        language: str,
        source_language: str = "",
        references: Reduction = "mean",
    ) -> None:
        super().__init__(name, side, references)
        check_languages(encoder_name, encoder.languages, (language,))
        if side == "src":
            check_source(encoder_name, encoder.languages, source_language)
        self._encoder = encoder
        self._encoder_name = encoder_name.removeprefix("hf:")

    def compare(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Vectors have length 1, so that products are cosines."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        vectors = dict(zip(texts, self._encoder.encode(texts), strict=True))
        return [float(vectors[one] @ vectors[other]) for one, other in pairs]

    def signature(self) -> str:
        """Which encoder, and what with several references."""
        refs = self.references if "ref" in self.needs else None
        return sign(self.name, encoder=self._encoder_name, refs=refs)
