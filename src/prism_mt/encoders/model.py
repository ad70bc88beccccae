"""The encoder of a translation model: contextual vectors in every language of the model."""

from collections.abc import Sequence
from copy import copy

import numpy as np
import torch

from prism_mt._core.errors import PrismError
from prism_mt.encoders.base import PieceVectors, batches_by_length, check_length
from prism_mt.models.directory import ModelDirectory
from prism_mt.models.network import from_weights
from prism_mt.text.languages import resolve


class TranslationEncoder:
    """The source side of a model; texts are in one language, which only some models need to know."""

    def __init__(self, model: ModelDirectory, language: str) -> None:
        spec = self._spec = model.spec
        self.digest = model.digest
        self.layers = spec.architecture.encoder_layers + 1
        self.width = spec.architecture.width
        self._vocabulary = model.source
        self._conventions = spec.conventions
        self._before = spec.conventions.source.index("pieces")
        self._limit = spec.architecture.max_positions
        self._network = from_weights(spec.architecture, model.weights())
        # Where the tag is the target's, a text is encoded as if to be paraphrased.
        self._set_languages(language, language)

    def for_sources(self, language: str) -> "TranslationEncoder":
        """The same network for texts in another language, encoded as if to be translated into this one's."""
        if not language and self._conventions.needs_source_language:
            raise PrismError(f"the model {self._spec.name} needs the language of the source: give --src-lang")
        other = copy(self)
        other._set_languages(language, self._into)
        return other

    def _set_languages(self, language: str, into: str) -> None:
        """The tags of texts in `language`, and a name that tells which of them the vectors depend on."""
        known = self._spec.languages
        language = resolve(language, known) if language else ""
        self._into = resolve(into, known) if into else ""
        self._tag, self._into_tag = known.get(language), known.get(self._into)
        symbols = self._conventions.source
        parts = [self._spec.name or "model"]
        parts += [language] if "source-tag" in symbols else []
        # Of a text to be paraphrased once is enough.
        parts += [f"to-{self._into}"] if "target-tag" in symbols and self._into not in parts[1:] else []
        self.name = "-".join(parts)

    def encode(self, texts: Sequence[str]) -> list[PieceVectors]:
        """Texts of similar length go through the network together."""
        pieces = [self._vocabulary.encode(text) for text in texts]
        ids = [self._conventions.encode_source(found, self._tag, self._into_tag) for found in pieces]
        for text, sequence in zip(texts, ids, strict=True):
            check_length(text, len(sequence), self._limit, self.name)
        found: dict[int, PieceVectors] = {}
        with torch.inference_mode():
            for places in batches_by_length([len(sequence) for sequence in ids]):
                states = self._forward([ids[place] for place in places]).numpy()
                for row, place in enumerate(places):
                    found[place] = np.array(states[row][:, self._before : self._before + len(pieces[place])])
        return [found[place] for place in range(len(texts))]

    def _forward(self, batch: list[tuple[int, ...]]) -> torch.Tensor:
        """B × layers × pieces × width; the first layer is the embeddings, the last has the final norm."""
        longest = len(batch[0])
        padded = torch.tensor([[*row, *[self._conventions.pad] * (longest - len(row))] for row in batch])
        lengths = torch.tensor([len(row) for row in batch])
        visible = (torch.arange(longest)[None] < lengths[:, None])[:, None, None]
        stack = self._network.encoder
        states = stack.embed(padded, self._network.source_embedding)
        layers = [states]
        for layer in stack.layers:
            states = layer(states, visible, False)
            layers.append(states)
        if stack.final_norm is not None:
            layers[-1] = stack.final_norm(states)
        return torch.stack(layers, dim=1)
