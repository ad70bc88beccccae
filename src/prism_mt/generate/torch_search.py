"""Every kind of search on torch."""

from collections.abc import Sequence

import torch

from prism_mt.engines.budgets import SEARCH
from prism_mt.engines.torch import TorchEngine, memory_errors
from prism_mt.generate.base import Found, PendingSearch, Request, symbols
from prism_mt.generate.beam import beam_search
from prism_mt.generate.copy_penalty import Copying, CopyPenalty
from prism_mt.generate.incremental import Decoding
from prism_mt.generate.options import SearchConfig
from prism_mt.generate.sampling import sample
from prism_mt.models.directory import ModelDirectory


class TorchSearcher:
    """Beam search, diverse beam search, sampling and search with a copy penalty, on our own network."""

    parallel = 1
    one_limit = False

    def __init__(self, model: ModelDirectory, engine: TorchEngine, config: SearchConfig) -> None:
        self._engine = engine
        self._config = config
        self._symbols = symbols(model)
        conventions, tags = model.spec.conventions, model.spec.languages.values()
        self._special = {conventions.bos, conventions.eos, conventions.pad, *tags}
        self._penalty = CopyPenalty(model.source, model.target, config) if config.method == "penalty" else None
        self.budget = SEARCH["torch"].on(engine.device.type)

    def submit(self, batch: Sequence[Request]) -> PendingSearch:
        """Start a batch; the work happens when the result is requested."""
        return lambda: self._search(batch)

    def _search(self, batch: Sequence[Request]) -> list[list[Found]]:
        with memory_errors(), torch.inference_mode():
            source, padding = self._engine.padded([request.source for request in batch])
            decoding = Decoding(self._engine.network, source, padding if padding.any() else None)
            prefixes = torch.tensor([request.prefix for request in batch], device=source.device)
            if self._config.method == "sample":
                return sample(decoding, prefixes, batch, self._symbols, self._config)
            copying = None
            if self._penalty:
                copying = Copying(self._penalty, [self._penalty.table(self._pieces(request)) for request in batch])
            limits = [request.limit for request in batch]
            return beam_search(decoding, prefixes, limits, self._symbols, self._config, copying)

    def _pieces(self, request: Request) -> list[int]:
        """The text pieces of a request, without the tags and ends that its encoding adds."""
        return [index for index in request.source if index not in self._special]
