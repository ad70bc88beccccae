"""Every kind of search on torch."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from prism_mt.engines.base import OutOfMemory
from prism_mt.engines.budgets import SEARCH
from prism_mt.engines.torch import TorchEngine
from prism_mt.generate.base import Found, PendingSearch, Request, textless_ids
from prism_mt.generate.beam import BeamRules, beam_search
from prism_mt.generate.copy_penalty import CopyPenalty
from prism_mt.generate.incremental import Decoding
from prism_mt.generate.options import SearchOptions
from prism_mt.generate.sampling import SamplingRules, sample
from prism_mt.models.directory import ModelDirectory


class TorchSearcher:
    """Beam search, diverse beam search, sampling and penalised search with our own network."""

    parallel = 1
    one_limit = False

    def __init__(self, model: ModelDirectory, engine: TorchEngine, options: SearchOptions) -> None:
        self._engine = engine
        self._n = options.n
        conventions, tags = model.spec.conventions, model.spec.languages.values()
        self._special = {conventions.bos, conventions.eos, conventions.pad, *tags}
        self._rules = _rules(model, options)
        self.budget = SEARCH["torch"].on(engine.device.type)

    def submit(self, batch: Sequence[Request]) -> PendingSearch:
        """The work is done when the result is asked for."""
        return lambda: self._search(batch)

    def _search(self, batch: Sequence[Request]) -> list[list[Found]]:
        rules = self._rules
        with _memory_errors(), torch.inference_mode():
            source, padding = self._engine.padded([request.source for request in batch])
            decoding = Decoding(self._engine.network, source, padding if padding.any() else None)
            prefixes = torch.tensor([request.prefix for request in batch], device=source.device)
            if isinstance(rules, SamplingRules):
                return sample(decoding, prefixes, batch, rules)
            copies = [rules.penalty.table(self._pieces(request)) for request in batch] if rules.penalty else []
            limits = [request.limit for request in batch]
            return [found[: self._n] for found in beam_search(decoding, prefixes, limits, rules, copies)]

    def _pieces(self, request: Request) -> list[int]:
        """The text of a request, without the tags and the ends that its encoding adds."""
        return [index for index in request.source if index not in self._special]


def _rules(model: ModelDirectory, options: SearchOptions) -> BeamRules | SamplingRules:
    """The options as the search or the sampling needs them."""
    end, forbidden = model.spec.conventions.eos, textless_ids(model)
    if options.method == "sample":
        return SamplingRules(
            end,
            forbidden,
            options.n,
            options.temperature,
            options.top_k,
            options.top_p,
            options.seed,
            options.length_penalty,
        )
    penalty = None
    if options.method == "penalty":
        penalty = CopyPenalty(
            model.source, model.target, options.penalty_scale, options.penalty_power, options.penalty_form
        )
    groups, strength = (options.groups, options.strength) if options.method == "diverse" else (1, 0.0)
    return BeamRules(end, forbidden, options.beams, groups, strength, options.length_penalty, penalty)


@contextmanager
def _memory_errors() -> Iterator[None]:
    """Every way in which torch says that memory ran out becomes OutOfMemory."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise OutOfMemory(str(error)) from error
    except RuntimeError as error:
        if "not enough memory" in str(error) or "out of memory" in str(error):
            raise OutOfMemory(str(error)) from error
        raise
