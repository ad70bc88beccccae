"""The Python interface: `load_model`, `score`, and `Prism`, a drop-in for the original tool's class."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.engines.factory import EngineConfig
from prism_mt.metrics.base import SystemScores
from prism_mt.metrics.parallel import ParallelText, evaluate
from prism_mt.metrics.paraphrased import ParaphraseOptions
from prism_mt.metrics.prism import PrismOptions
from prism_mt.metrics.registry import ModelInUse, Setting, entry, make_metric
from prism_mt.models import zoo
from prism_mt.models.resolve import DEFAULT_MODEL
from prism_mt.text.lines import lines_of

Texts = Sequence[str]


class LoadedModel:
    """A model in an engine, ready to score; made by `load_model`."""

    def __init__(self, model: ModelInUse) -> None:
        self.model = model
        model.engine  # noqa: B018  loads it now, so that mistakes show here

    @property
    def languages(self) -> list[str]:
        """Codes of the languages that the model can score."""
        return sorted(self.model.directory.spec.languages)

    @property
    def digest(self) -> str:
        """The model's identity, as in signatures."""
        return self.model.directory.digest

    def score(
        self,
        cand: Texts | Mapping[str, Texts],
        ref: Texts | Sequence[Texts] | None = None,
        src: Texts | None = None,
        *,
        lang: str,
        src_lang: str | None = None,
        metric: str | None = None,
        **options: Any,
    ) -> Any:
        """Like `prism_mt.score`, without loading the model again."""
        name = metric or ("prism-ref" if ref is not None else "prism-src")
        return _score(name, _setting(lang, src_lang, self.model, options), cand, ref, src)


def load_model(name: str = DEFAULT_MODEL, *, offline: bool = False, **engine: Any) -> LoadedModel:
    """Load a model once to score with it often.

    `name` is a folder, a tar of the original layout, `hf:ORG/NAME` or a name of `prism models list`; further
    arguments are the temperature and those of `EngineConfig`.
    """
    temperature = engine.pop("temperature", 1.0)
    return LoadedModel(ModelInUse(name, EngineConfig(offline=offline, **engine), temperature))


def score(
    cand: Texts | Mapping[str, Texts],
    ref: Texts | Sequence[Texts] | None = None,
    src: Texts | None = None,
    *,
    lang: str = "",
    src_lang: str | None = None,
    metric: str | None = None,
    model: str = DEFAULT_MODEL,
    offline: bool = False,
    **options: Any,
) -> Any:
    """Score outputs against references and/or the source.

    `cand` is a list of outputs, or a dictionary of such lists by system, and the result a `SystemScores` or a
    dictionary of them. `ref` is a list of references or a list of several such lists. Further arguments are
    those of `EngineConfig` and `PrismOptions`, and as on the command line `paraphrases`, `replace_reference`,
    `paraphrase_file`, `encoder` and `language_model` for the metrics that take them.
    """
    names = {field.name for field in fields(EngineConfig)}
    engine = EngineConfig(offline=offline, **{key: value for key, value in options.items() if key in names})
    temperature = options.pop("temperature", 1.0)
    others = {key: value for key, value in options.items() if key not in names}
    name = metric or ("prism-ref" if ref is not None else "prism-src")
    setting = _setting(lang, src_lang, ModelInUse(model, engine, temperature), others)
    return _score(name, setting, cand, ref, src)


def _setting(lang: str, src_lang: str | None, model: ModelInUse, options: dict[str, Any]) -> Setting:
    """What metrics are built from; whatever no metric knows is an option of Prism, or a mistake."""
    rest = dict(options)
    file, language_model = rest.pop("paraphrase_file", None), rest.pop("language_model", None)
    paraphrases = ParaphraseOptions(
        rest.pop("paraphrases", None), rest.pop("replace_reference", False), None if file is None else Path(file)
    )
    return Setting(
        lang,
        src_lang,
        model,
        encoder=rest.pop("encoder", None),
        language_model=None if language_model is None else Path(language_model),
        paraphrases=paraphrases,
        prism=PrismOptions(**rest),
    )


def _score(
    name: str,
    setting: Setting,
    cand: Texts | Mapping[str, Texts],
    ref: Texts | Sequence[Texts] | None,
    src: Texts | None,
) -> SystemScores | dict[str, SystemScores]:
    given = {"ref": ref is not None, "src": src is not None}
    for side in entry(name).needs:
        if not given[side]:
            raise PrismError(f"{name} needs {side}")
    if name.startswith("prism") and not setting.language:
        raise PrismError("say which language the outputs are in: lang='xx'")
    systems = cand if isinstance(cand, Mapping) else {"system": cand}
    if ref is not None and not ref:
        raise PrismError("ref is empty: there is nothing to score against")
    references: Sequence[Any] = [] if ref is None else [ref] if isinstance(ref[0], str) else ref
    text = ParallelText(
        tuple((system, lines_of(texts, f"cand {system}")) for system, texts in systems.items()),
        tuple(lines_of(texts, f"ref {index}") for index, texts in enumerate(references, start=1)),
        None if src is None else lines_of(src, "src"),
    )
    text.count()
    results = evaluate(make_metric(name, setting), text)
    return {result.system: result for result in results} if isinstance(cand, Mapping) else results[0]


class Prism:
    """The original tool's class: same arguments, same results.

    `engine` is `torch` or `ct2`; both give the same numbers.
    """

    def __init__(self, model_dir: str, lang: str, temperature: float = 1.0, engine: str = "ct2") -> None:
        self.lang = lang
        self.temperature = temperature
        self._model = load_model(str(model_dir), engine=engine, temperature=temperature)
        self._model.model.language(lang)

    def identifier(self) -> dict[str, Any]:
        """Version, model and options; `log_base` is e, which the original tool wrongly gave as 2."""
        spec = self._model.model.directory.spec
        known = zoo.by_digest(f"md5:{spec.origin_digest}")
        return {
            "version": "0.1",
            "model": known.name if known else spec.origin_digest or self._model.digest,
            "seg_scores": "avg_log_prob",
            "sys_scores": "avg_log_prob",
            "log_base": "e",
            "temperature": self.temperature,
        }

    def score(
        self, cand: Texts, ref: Texts | None = None, src: Texts | None = None, segment_scores: bool = False
    ) -> float | NDArray[np.float64]:
        """The system score, or an array of segment scores; exactly one of `ref` and `src` must be given."""
        if (ref is None) == (src is None):
            raise PrismError('Must provide exactly one of "ref" or "src"')
        result: SystemScores = self._model.score(cand, ref, src, lang=self.lang)
        return result.segments if segment_scores else result.score
