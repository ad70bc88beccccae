"""Models that stay loaded between calls, and `Prism`, a drop-in for the original tool's class."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.engines.factory import EngineConfig
from prism_mt.metrics.base import Metric
from prism_mt.metrics.prism import PrismRef, PrismSrc
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.score import score
from prism_mt.metrics.scores import Scores
from prism_mt.models import zoo
from prism_mt.models.resolve import DEFAULT_MODEL
from prism_mt.text.parallel import Texts


class LoadedModel:
    """A model in an engine, ready to score; created by `load_model`."""

    def __init__(self, name: str, runtime: Runtime) -> None:
        self.name, self.runtime = name, runtime
        runtime.engine(name).budget  # noqa: B018  loads it now, so that mistakes show here

    def __repr__(self) -> str:
        return f"LoadedModel({self.name!r})"

    @property
    def languages(self) -> list[str]:
        """Codes of the languages that the model can score."""
        return sorted(self.runtime.model(self.name).spec.languages)

    @property
    def digest(self) -> str:
        """The model's digest, as in signatures."""
        return self.runtime.model(self.name).digest

    def score(
        self,
        hypotheses: Texts | Mapping[str, Texts],
        *,
        ref: Texts | Sequence[Texts] | None = None,
        src: Texts | None = None,
        lang: str | Sequence[str],
        src_lang: str | Sequence[str] = "",
        metrics: Sequence[str | Metric] | str | Metric | None = None,
        documents: Texts | None = None,
        tokens: bool = False,
    ) -> Scores:
        """Score as `prism_mt.score` does, without loading the model again."""
        return score(
            hypotheses,
            ref=ref,
            src=src,
            lang=lang,
            src_lang=src_lang,
            metrics=metrics,
            model=self.name,
            documents=documents,
            tokens=tokens,
            runtime=self.runtime,
        )


def load_model(name: str = DEFAULT_MODEL, *, config: EngineConfig | None = None) -> LoadedModel:
    """Load a model once to score with it repeatedly.

    `name` is a folder, a tar of the original layout, `hf:ORG/NAME` or a name from `prism models list`.
    """
    return LoadedModel(str(name), Runtime(config))


class Prism:
    """The original tool's class: same arguments, same results.

    `engine` is `torch` or `ct2`; both give the same numbers.
    """

    def __init__(
        self,
        model_dir: str,
        lang: str,
        temperature: float = 1.0,
        engine: Literal["auto", "ct2", "torch"] = "ct2",
    ) -> None:
        self.lang = lang
        self.temperature = temperature
        self._name = str(model_dir)
        self._runtime = Runtime(EngineConfig(engine=engine))
        self._runtime.language(self._name, lang)

    def identifier(self) -> dict[str, Any]:
        """Version, model and options; `log_base` is e, which the original tool wrongly gave as 2."""
        model = self._runtime.model(self._name)
        known = zoo.by_digest(f"md5:{model.spec.origin_digest}")
        return {
            "version": "0.1",
            "model": known.name if known else model.spec.origin_digest or model.digest,
            "seg_scores": "avg_log_prob",
            "sys_scores": "avg_log_prob",
            "log_base": "e",
            "temperature": self.temperature,
        }

    def score(
        self, cand: Texts, ref: Texts | None = None, src: Texts | None = None, segment_scores: bool = False
    ) -> float | NDArray[np.float64]:
        """Return the system score, or an array of segment scores; exactly one of `ref` and `src` must be given."""
        if (ref is None) == (src is None):
            raise PrismError('Must provide exactly one of "ref" or "src"')
        kind = PrismRef if ref is not None else PrismSrc
        metric = kind(model=self._name, temperature=self.temperature)
        found = score(cand, ref=ref, src=src, lang=self.lang, metrics=[metric], runtime=self._runtime).item()
        return found.segments if segment_scores else found.score
