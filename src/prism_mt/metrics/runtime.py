"""Models, engines and encoders of a run, each opened once and only when a metric needs it."""

import logging
import threading
from collections.abc import Callable
from typing import Literal, TypeVar

from prism_mt.engines.base import Engine
from prism_mt.engines.config import resolve_engine
from prism_mt.engines.factory import EngineConfig, open_cached_engine
from prism_mt.models.directory import ModelDirectory
from prism_mt.models.resolve import open_model
from prism_mt.text.languages import resolve

Resource = TypeVar("Resource")
_LOG = logging.getLogger("prism_mt")


class Runtime:
    """The context in which metrics are opened: engine options, and everything that several metrics share."""

    def __init__(self, config: EngineConfig | None = None) -> None:
        self.config = config or EngineConfig()
        self._resources: dict[object, object] = {}
        self._lock = threading.RLock()  # creating an engine requests its model

    def model(self, name: str) -> ModelDirectory:
        """Open a model directory; its weights are not read yet."""
        return self.share(("model", name), lambda: self._open(name))

    def _open(self, name: str) -> ModelDirectory:
        found = open_model(name, self.config.offline)
        _LOG.debug("model %s: %s, digest %s", name, found.folder, found.digest[:12])
        return found

    def language(self, model: str, language: str) -> str:
        """Return the model's own code for a language, or fail with a list of those that it has."""
        return resolve(language, self.model(model).spec.languages)

    def engine(self, model: str, temperature: float = 1.0) -> Engine:
        """Return the model ready to score; it is loaded at the first cache miss."""
        return self.share(
            ("engine", model, temperature), lambda: open_cached_engine(self.model(model), self.config, temperature)
        )

    def encoder_precision(self) -> Literal["float32", "bfloat16"]:
        """Return the precision of encoders: bfloat16 if scoring uses it, float32 otherwise."""
        return "bfloat16" if resolve_engine(self.config).precision.endswith("bfloat16") else "float32"

    def share(self, key: object, make: Callable[[], Resource]) -> Resource:
        """Create a resource once and share it among all callers with this key, from any thread."""
        with self._lock:
            if key not in self._resources:
                self._resources[key] = make()
            return self._resources[key]  # type: ignore[return-value]
