"""The objective of `prism train`: the likelihood of targets given their sources, or of single sentences."""

import dataclasses
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from prism_mt._core.errors import PrismError
from prism_mt.corpus.data_directory import ShardDataset, digest_data, read_vocabularies
from prism_mt.models.language_model import LanguageModel
from prism_mt.models.network import Transformer
from prism_mt.models.spec import Conventions
from prism_mt.training.distributed import World
from prism_mt.training.log import say
from prism_mt.training.objective import Outcome, Position, Update, Weights
from prism_mt.training.precision import autocast, choose_precision
from prism_mt.training.translation.batches import Collator
from prism_mt.training.translation.config import TrainConfig
from prism_mt.training.translation.cooccurrence import cooccurrence_vectors
from prism_mt.training.translation.cross_entropy import TranslationLoss
from prism_mt.training.translation.initial import source_symbols, take_decoder, take_encoder, take_model
from prism_mt.training.translation.quality import translation_quality
from prism_mt.training.translation.stream import ExampleStream, Place, Plan
from prism_mt.training.translation.validation import ALL, validate, validation_plans


class TranslationObjective:
    """Trains a translation model or a language model on a data directory."""

    terms: Mapping[str, float] = {"loss": 1.0}
    validates_ends = False

    def __init__(self, config: TrainConfig, world: World) -> None:
        self.config, self.world = config, world
        self.data = ShardDataset(config.data)
        self._source_vocabulary, self.vocabulary = read_vocabularies(config.data)
        self.conventions = Conventions(source=source_symbols(config))
        language_model = config.kind == "language-model"
        # A language model has no source: sorted as if the target were the source, batches are tight.
        share = 1.0 if language_model else config.denoising.share
        self._source_extra = len(self.conventions.source) - 1
        self.stream = ExampleStream(self.data, config.batches, share, config.seed, self._source_extra)
        self.epoch = self.stream.examples
        self._collator = partial(
            Collator,
            vocabulary=self.vocabulary,
            denoising=config.denoising,
            conventions=self.conventions,
            with_source=not language_model,
        )
        self.collate = self._collator(self.data)
        self.interval = config.validation.every
        self._prepare_validation()
        torch.manual_seed(config.seed)
        kind = LanguageModel if language_model else Transformer
        meta = self.data.meta
        architecture = config.architecture.with_vocabularies(
            meta.source_vocabulary or meta.vocabulary, meta.vocabulary
        )
        self.model: Transformer | LanguageModel = kind(architecture, config.dropout)
        self.module = TranslationLoss(self.model, config.label_smoothing, config.frozen, config.negatives)

    def _prepare_validation(self) -> None:
        config = self.config
        self.tables: dict[str, tuple[str, ...]] = {}
        if not config.validation.every:
            return
        held_out = ShardDataset(config.data, "valid")
        self.validation = validation_plans(held_out, config, config.validation.rows, self._source_extra)
        self.translations = validation_plans(held_out, config, config.validation.translations, self._source_extra)
        if not self.validation:
            raise PrismError(f"{config.data} has no validation part: prepare one or set validation.every = 0")
        self.collate_validation = self._collator(held_out)
        self.tables["valid"] = ("pair", "loss", "tokens")
        if self.translations:
            self.tables["translations"] = ("pair", "bleu", "chrf", "segments")

    def begin(self, world: World) -> None:
        """Start from another model, an encoder or co-occurrence embeddings, if configured."""
        if self.config.initial.model and isinstance(self.model, Transformer):
            take_model(self.model, self.config.initial.model, self._source_vocabulary, self.vocabulary)
        if self.config.initial.encoder and isinstance(self.model, Transformer):
            frozen = "encoder" in self.config.frozen
            take_encoder(self.model, self.config.initial.encoder, self._source_vocabulary, frozen)
            if self.config.initial.decoder:
                take_decoder(self.model, self.config.initial.encoder, self.vocabulary)
        # Other processes get the first one's weights.
        if self.config.embeddings == "cooccurrence" and world.first and isinstance(self.model, Transformer):
            say("counting co-occurrences of pieces")
            with torch.no_grad():
                table = self.model.source_embedding
                vectors = cooccurrence_vectors(self.data, table.cpu(), self.config.seed)
                table.copy_(vectors)

    def updates(self, position: Position, processes: int) -> Iterator[Update[Plan]]:
        """Yield steps of `accumulate` batches per process."""
        batches = self.stream.batches(Place(*position))
        while planned := list(islice(batches, self.config.batches.accumulate * processes)):
            plans, place = [plan for plan, _ in planned], planned[-1][1]
            tokens = sum(plan.predicted for plan in plans)
            yield Update(plans, tokens, tokens, dataclasses.astuple(place), place.examples)

    def loss(self, term: str, batch: Plan) -> tuple[Tensor, Tensor]:
        """The smoothed cross-entropy, and the negative log-likelihood of the predicted tokens."""
        loss, likelihood = self.module(self.collate(batch).to(self.world.device))
        return loss, likelihood

    def validate(self) -> Outcome:
        """The loss of every direction, and BLEU and chrF if translations are configured."""
        world = self.world
        with autocast(choose_precision(self.config.precision, world.device), world.device):
            losses = validate(self.module, self.validation, self.collate_validation, world)
        rows = [{"pair": pair, "loss": loss, "tokens": tokens} for pair, (loss, tokens) in losses.items()]
        tables = {"valid": rows}
        if self.translations and isinstance(self.model, Transformer):
            found = translation_quality(
                self.model, self.translations, self.collate_validation, self.vocabulary, world
            )
            tables["translations"] = [
                {"pair": pair, "bleu": round(bleu, 2), "chrf": round(chrf, 2), "segments": segments}
                for pair, (bleu, chrf, segments) in found.items()
            ]
        loss = losses[ALL][0]
        return Outcome(-loss, f"validation loss {loss:.4f}", tables)

    def identity(self) -> dict[str, Any]:
        """Kind, data and architecture."""
        return {
            "kind": self.config.kind,
            "examples": self.epoch,
            "data": digest_data(self.config.data),
            "frozen": list(self.config.frozen),
            "source": list(self.conventions.source),
            **dataclasses.asdict(self.model.architecture),
        }

    def weights(self) -> Weights:
        """All weights by canonical name."""
        return self.model.state_dict()

    def load_weights(self, weights: Weights) -> None:
        """Restore what `weights` returned."""
        self.model.load_state_dict(weights)

    def export_state(self) -> dict[str, Any]:
        """The tokens of a source, which may come from a model that is gone by then."""
        return {"source": list(self.conventions.source)}
