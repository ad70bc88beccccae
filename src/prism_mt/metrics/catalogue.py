"""All metrics by name. A new metric is one file and one line here."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

from prism_mt.engines.base import Engine
from prism_mt.engines.factory import EngineOptions, open_engine
from prism_mt.errors import PrismError
from prism_mt.generate.generator import Generator
from prism_mt.generate.options import SearchOptions
from prism_mt.metrics import paraphrased, surface
from prism_mt.metrics.base import Metric, Side
from prism_mt.metrics.dual import DualMetric
from prism_mt.metrics.prism import PrismMetric, PrismOptions
from prism_mt.models.resolve import DEFAULT_MODEL, open_model
from prism_mt.models.store import ModelDirectory
from prism_mt.text.languages import resolve


@dataclass
class ModelInUse:
    """A model by name, opened and loaded only when a metric asks for it, and then once."""

    name: str = DEFAULT_MODEL
    offline: bool = False
    options: EngineOptions = field(default_factory=EngineOptions)
    cached: bool = False
    """Whether scores are taken from and added to the user's cache; the model is then loaded for new ones only."""

    @cached_property
    def directory(self) -> ModelDirectory:
        """The model's directory; its weights are not read yet."""
        return open_model(self.name, self.offline)

    @cached_property
    def engine(self) -> Engine:
        """The model, ready to score."""
        if self.cached:
            from prism_mt.engines.cache import CachedEngine

            return CachedEngine(self.directory, self.options)
        return open_engine(self.directory, self.options)

    def language(self, name: str) -> str:
        """The language as the model calls it; an error that lists all of them when it has none such."""
        return resolve(name, self.directory.spec.languages)


@dataclass
class Setting:
    """What metrics are built from."""

    language: str
    source_language: str | None = None
    model: ModelInUse = field(default_factory=ModelInUse)
    prism: PrismOptions = field(default_factory=PrismOptions)
    paraphrases: paraphrased.ParaphraseOptions = field(default_factory=paraphrased.ParaphraseOptions)


@dataclass(frozen=True)
class Entry:
    """A line of the catalogue."""

    what: str
    needs: frozenset[Side]
    make: Callable[[Setting], Metric]


def _prism(side: Side, kind: type[PrismMetric] = PrismMetric) -> Callable[[Setting], Metric]:
    def make(setting: Setting) -> Metric:
        model = setting.model
        language = model.language(setting.language)
        source = model.language(setting.source_language) if setting.source_language else None
        return kind(side, model.directory, model.engine, language, source, setting.prism, model.options.budget)

    return make


def _paraphrased(name: str, metric: Metric, setting: Setting) -> Metric:
    """A metric with more references, for which the model is opened unless a file has them."""

    def make(options: SearchOptions) -> Generator:
        engine = replace(setting.model.options, engine="torch", quantization="float32", temperature=1.0)
        return Generator(setting.model.directory, engine, options)

    return paraphrased.paraphrased(name, metric, setting.language, setting.paraphrases, make)


_REF: frozenset[Side] = frozenset({"ref"})
_SRC: frozenset[Side] = frozenset({"src"})

METRICS: dict[str, Entry] = {
    "prism-ref": Entry("log-probability of output and reference given each other", _REF, _prism("ref")),
    "prism-src": Entry("log-probability of the output given the source", _SRC, _prism("src")),
    "prism-dual": Entry(
        "dual conditional cross-entropy of source and output, to filter bitext", _SRC, _prism("src", DualMetric)
    ),
    "bleu": Entry("BLEU, as sacreBLEU computes it", _REF, lambda s: surface.bleu(s.language)),
    "chrf": Entry("chrF, as sacreBLEU computes it", _REF, lambda s: surface.chrf(s.language)),
    "chrf++": Entry(
        "chrF++ (word bigrams), as sacreBLEU computes it", _REF, lambda s: surface.chrf_plus_plus(s.language)
    ),
    "ter": Entry("translation edit rate (lower is better)", _REF, lambda s: surface.ter(s.language)),
    "parbleu": Entry(
        "BLEU with paraphrases among the references",
        _REF,
        lambda s: _paraphrased("parbleu", paraphrased.bleu(s.language), s),
    ),
    "parchrf++": Entry(
        "chrF3++ (single words) with paraphrases among the references",
        _REF,
        lambda s: _paraphrased("parchrf++", paraphrased.chrf_plus_plus(), s),
    ),
}


def make_metric(name: str, setting: Setting) -> Metric:
    """The metric of this name with all its options fixed."""
    return entry(name).make(setting)


def entry(name: str) -> Entry:
    """The catalogue's line for a name, or an error that lists all names."""
    if name not in METRICS:
        raise PrismError(f"no metric {name!r}; there are {', '.join(METRICS)}")
    return METRICS[name]
