"""All metrics by name. A new metric is one file and one line here."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from prism_mt._core.errors import MissingExtra, PrismError
from prism_mt.encoders.cached import StoredEncoder
from prism_mt.encoders.factory import MODEL, open_both_encoders, open_piece_encoder, open_sentence_encoder
from prism_mt.engines.base import Engine
from prism_mt.engines.config import Task
from prism_mt.engines.factory import EngineConfig, open_cached_engine
from prism_mt.engines.scheduler import CLUSTER_WINDOW, WINDOW
from prism_mt.generate.generator import Generator
from prism_mt.generate.options import SearchConfig
from prism_mt.metrics import learned, paraphrased, sacrebleu
from prism_mt.metrics.base import Metric, Side
from prism_mt.metrics.bertscore import MatchMetric, Value
from prism_mt.metrics.combined import CombinedMetric, parse_terms
from prism_mt.metrics.dual import DualMetric
from prism_mt.metrics.prism import PrismMetric, PrismOptions
from prism_mt.metrics.sentence import SentenceMetric
from prism_mt.models.directory import ModelDirectory
from prism_mt.models.resolve import DEFAULT_MODEL, open_model
from prism_mt.text.languages import find_language, resolve


@dataclass
class ModelInUse:
    """A model by name, opened and loaded only when a metric asks for it, and then once."""

    name: str = DEFAULT_MODEL
    config: EngineConfig = field(default_factory=EngineConfig)
    temperature: float = 1.0
    task: Task = "score"

    @cached_property
    def directory(self) -> ModelDirectory:
        """The model's directory; its weights are not read yet."""
        return open_model(self.name, self.offline)

    @cached_property
    def engine(self) -> Engine:
        """The model, ready to score."""
        return open_cached_engine(self.directory, self.config, self.temperature, self.task)

    @property
    def offline(self) -> bool:
        """Whether the network must not be used."""
        return self.config.offline

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
    encoder: str | None = None
    """Of metrics that compare vectors; None is the model's own for pieces, and `use` for sentences."""
    language_model: Path | None = None

    @property
    def code(self) -> str:
        """The language's ISO code, which tokenisers know, whatever name or model's code was given."""
        known = find_language(self.language)
        return known.code if known else self.language


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
        from_source = side == "src" and setting.source_language
        source = model.language(setting.source_language or "") if from_source else None
        batching = (None, CLUSTER_WINDOW) if model.config.ray else (model.config.batch_tokens, WINDOW)
        return kind(side, model.directory, model.engine, language, source, setting.prism, *batching)

    return make


def _paraphrased(name: str, metric: Metric, setting: Setting) -> Metric:
    """A metric with more references, for which the model is opened unless a file has them."""

    def make(options: SearchConfig) -> Generator:
        engine = replace(
            setting.model.config, engine="torch", precision="float32", batch_tokens=None, workers=None, ray=None
        )
        return Generator(setting.model.directory, engine, options)

    return paraphrased.paraphrased(name, metric, setting.language, setting.paraphrases, make)


def _match(name: str, value: Value, side: Side = "ref") -> Callable[[Setting], Metric]:
    def make(setting: Setting) -> Metric:
        encoder, references = setting.encoder or MODEL, setting.prism.references
        codes = setting.language, setting.source_language or ""
        model, offline = (lambda: setting.model.directory), setting.model.offline
        if side == "ref":
            ours = open_piece_encoder(encoder, codes[0], model, offline)
            return MatchMetric(name, StoredEncoder(ours), value, references)
        ours, of_sources = open_both_encoders(encoder, *codes, model, offline)
        return MatchMetric(name, StoredEncoder(ours), value, references, StoredEncoder(of_sources))

    return make


def _sentence(name: str, side: Side) -> Callable[[Setting], Metric]:
    def make(setting: Setting) -> Metric:
        encoder = setting.encoder or "use"
        opened = open_sentence_encoder(encoder, setting.model.offline)
        codes = setting.language, setting.source_language or ""
        return SentenceMetric(name, side, opened, encoder, *codes, setting.prism.references)

    return make


def _fluency(setting: Setting) -> Metric:
    if setting.language_model is None:
        raise PrismError("lm needs a language model: name its folder with --language-model")
    try:
        from prism_mt.metrics.lm import open_language_model
    except ImportError:
        raise MissingExtra("the metric lm", "train") from None
    return open_language_model(setting.language_model, setting.language, setting.prism.long)


_REF: frozenset[Side] = frozenset({"ref"})
_SRC: frozenset[Side] = frozenset({"src"})

METRICS: dict[str, Entry] = {
    "prism-ref": Entry("log-probability of output and reference given each other", _REF, _prism("ref")),
    "prism-src": Entry("log-probability of the output given the source", _SRC, _prism("src")),
    "prism-dual": Entry(
        "dual conditional cross-entropy of source and output, to filter bitext", _SRC, _prism("src", DualMetric)
    ),
    "bleu": Entry("BLEU, as sacreBLEU computes it", _REF, lambda s: sacrebleu.bleu(s.code)),
    "chrf": Entry("chrF, as sacreBLEU computes it", _REF, lambda s: sacrebleu.chrf(s.code)),
    "chrf++": Entry(
        "chrF++ (word bigrams), as sacreBLEU computes it", _REF, lambda s: sacrebleu.chrf_plus_plus(s.code)
    ),
    "ter": Entry("translation edit rate (lower is better)", _REF, lambda s: sacrebleu.ter(s.code)),
    "parbleu": Entry(
        "BLEU with paraphrases among the references",
        _REF,
        lambda s: _paraphrased("parbleu", paraphrased.bleu(s.code), s),
    ),
    "parchrf++": Entry(
        "chrF3++ (single words) with paraphrases among the references",
        _REF,
        lambda s: _paraphrased("parchrf++", paraphrased.chrf_plus_plus(), s),
    ),
    "bertr": Entry("mean best cosine of the reference's pieces", _REF, _match("bertr", "recall")),
    "bertscore": Entry("F1 of best cosines, without idf", _REF, _match("bertscore", "f1")),
    "bertscore-p": Entry("mean best cosine of the output's pieces", _REF, _match("bertscore-p", "precision")),
    "bertr-src": Entry(
        "mean best cosine of the source's pieces (multilingual encoder)",
        _SRC,
        _match("bertr-src", "recall", "src"),
    ),
    "bertscore-src": Entry(
        "F1 of best cosines of output and source (multilingual encoder)",
        _SRC,
        _match("bertscore-src", "f1", "src"),
    ),
    "laser": Entry("cosine of sentence vectors of output and reference", _REF, _sentence("laser", "ref")),
    "laser-src": Entry("cosine of sentence vectors of output and source", _SRC, _sentence("laser-src", "src")),
    "lm": Entry("mean log-probability of the output under a language model", frozenset(), _fluency),
}


def make_metric(name: str, setting: Setting) -> Metric:
    """The metric of this name with all its options fixed."""
    return entry(name).make(setting)


def make_metrics(
    names: Sequence[str], setting: Setting, make: Callable[[str, Setting], Metric] = make_metric
) -> list[Metric]:
    """Metrics of one run. Trained ones of one kind are told apart by what was asked for, such as `esim:runs/a`."""
    metrics = [make(name, setting) for name in names]
    counts = Counter(metric.name for metric in metrics)
    for asked, metric in zip(names, metrics, strict=True):
        if counts[metric.name] > 1:
            metric.name = f"{metric.name}:{asked}"
    return metrics


def entry(name: str) -> Entry:
    """The line for a name of the catalogue, the folder of a trained metric, or a combination.

    `par:` before such a folder adds paraphrases to the references, `src:` puts the source in their place.
    An error lists all names.
    """
    if terms := parse_terms(name):
        needs: frozenset[Side] = frozenset().union(*(entry(part).needs for _, part in terms))
        return Entry(
            "weighted sum",
            needs,
            lambda s: CombinedMetric(name, [(weight, make_metric(part, s)) for weight, part in terms]),
        )
    if name in METRICS:
        return METRICS[name]
    way, folder = _trained_name(name)
    if not learned.is_metric_directory(folder):
        raise PrismError(
            f"no metric {name!r}; there are {', '.join(METRICS)}, or give the folder of a trained one"
        )
    side: Side = "src" if way == "src" else learned.read_spec(folder).side
    if way == "par":
        if side == "src":
            raise PrismError(f"{folder} compares with sources: there are no references to paraphrase")
        return Entry(
            "trained metric, paraphrases among the references", _REF, lambda s: _paraphrased_trained(folder, s)
        )
    needs = _SRC if side == "src" else _REF
    return Entry("trained metric", needs, lambda s: _trained(folder, side, s))


def _trained_name(name: str) -> tuple[str, Path]:
    """`par:FOLDER`, `src:FOLDER` or just FOLDER."""
    way, separator, folder = name.partition(":")
    return (way, Path(folder)) if separator and way in ("par", "src") else ("", Path(name))


def _trained(folder: Path, side: Side, setting: Setting) -> learned.RegressionMetric:
    use = learned.Use(
        side,
        setting.language,
        setting.source_language or "",
        lambda: setting.model.directory,
        setting.prism.references,
        setting.model.offline,
    )
    return learned.open_metric(folder, use)


def _paraphrased_trained(folder: Path, setting: Setting) -> Metric:
    metric = _trained(folder, "ref", setting)
    return _paraphrased(f"par{metric.name}", metric, setting)
