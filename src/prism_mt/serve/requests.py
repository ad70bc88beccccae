"""Request schemas and limits: everything is checked before any work starts."""

import asyncio
import dataclasses
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema
from starlette.requests import ClientDisconnect

from prism_mt._core.errors import PrismError
from prism_mt._core.options import make
from prism_mt.metrics.base import Languages, Metric
from prism_mt.metrics.combined import Combined, parse_terms
from prism_mt.metrics.registry import list_metrics
from prism_mt.metrics.score import check_needs
from prism_mt.text.parallel import ParallelText, parallel_text

_Kind = TypeVar("_Kind", bound=BaseModel)


@dataclass(frozen=True)
class Limits:
    """Limits of one request."""

    bytes: int = 4_000_000
    segments: int = 5_000
    """Outputs of all systems."""
    comparisons: int = 20_000
    """Outputs times references and metrics."""
    systems: int = 50
    """Systems, since each is compared with each."""
    characters: int = 40_000
    """Characters of an output together with its references and source."""
    seconds: float = 120.0


def _listed(given: object) -> object:
    """Accept one reference as a list of one."""
    return [given] if isinstance(given, list) and given and all(isinstance(text, str) for text in given) else given


_ONE = {"type": "array", "items": {"type": "string"}}
References = Annotated[
    list[list[str]],
    BeforeValidator(_listed),
    WithJsonSchema({"anyOf": [_ONE, {"type": "array", "items": _ONE}]}),
]
"""References of all outputs; a single one may come without brackets around it."""


class Texts(BaseModel):
    """Fields shared by both kinds of requests."""

    model_config = ConfigDict(extra="forbid", strict=True)

    ref: References = Field(default=[], description="texts of the reference, or such a list for each of several")
    src: list[str] | None = Field(default=None, description="sources, where the metric needs them")
    lang: str = Field(default="", description="language of the outputs; surface metrics do without")
    src_lang: str | None = None
    model: str | None = Field(default=None, description="one of the served models (default: the first)")


class ScoreRequest(Texts):
    """Body of `POST /score`."""

    cand: list[str] = Field(min_length=1, description="outputs of one system")
    metric: str = Field(default="prism-ref", description="name of a metric")
    metrics: list[str] = Field(
        default=[], description="names of several metrics, listed under `metrics` in the response"
    )
    options: dict[str, Any] = Field(default={}, description="options of the metric, by name")
    tokens: bool = Field(default=False, description="also return every piece with its log-probability")
    spans: bool = Field(default=False, description="also return errors: wrong and missing words, with severity")
    error_free: bool = Field(default=False, description="also return the probability of no error, per output")


class ReportRequest(Texts):
    """Body of `POST /report`."""

    systems: dict[str, list[str]] = Field(min_length=1, description="outputs by system")
    metrics: list[str] = Field(default=["prism-ref"], min_length=1, description="names of metrics")


class Trace(BaseModel):
    """Pieces of one text, each with its natural-log probability given the other text."""

    direction: str = Field(description="which given which, such as hypothesis|reference")
    pieces: list[str]
    scores: list[float]


class Span(BaseModel):
    """An error: words of the output that are wrong, or of the reference or source that it lacks."""

    part: str = Field(description="hypothesis, reference or source")
    start: int = Field(description="first character")
    end: int = Field(description="the character after the last")
    text: str
    severity: str = Field(description="minor or major")
    probability: float


class ScoreAnswer(BaseModel):
    """Response of `POST /score`."""

    score: float = Field(description="score of the system")
    segments: list[float] = Field(description="score of every output")
    signature: str = Field(description="everything that the numbers depend on")
    tokens: list[list[Trace]] | None = Field(default=None, description="for every output, if requested")
    spans: list[list[Span]] | None = Field(default=None, description="for every output, if requested")
    error_free: list[float] | None = Field(default=None, description="for every output, if requested")


class MetricAnswer(ScoreAnswer):
    """Response of `POST /score` for each of several metrics."""

    metric: str


class SeveralAnswer(BaseModel):
    """Response of `POST /score` to a request with `metrics`."""

    metrics: list[MetricAnswer]


class Health(BaseModel):
    """Response of `GET /health`."""

    status: Literal["ok"]
    version: str
    models: list[str]
    metrics: list[str]


class Trouble(BaseModel):
    """Response to every request that cannot be answered."""

    error: str


class Refused(Exception):
    """A request that gets an error status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


async def read_body(request: Request, limit: Limits) -> bytes:
    """Read the body, giving up once it is too large or slow. Only JSON is accepted: pages cannot send it unasked."""
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/json":
        raise Refused(415, "send JSON, with Content-Type: application/json")
    try:
        return await asyncio.wait_for(_whole(request, limit.bytes), limit.seconds)
    except asyncio.TimeoutError as error:
        raise Refused(408, f"the request did not arrive within {limit.seconds:g} seconds") from error
    except ClientDisconnect as error:
        raise Refused(499, "the client has gone") from error


async def _whole(request: Request, most: int) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most:
            raise Refused(413, f"a request may have {most:,} bytes: split it into several")
    return bytes(body)


def parse_body(kind: type[_Kind], body: bytes) -> _Kind:
    """Parse a JSON body."""
    try:
        parsed = kind.model_validate_json(body)
        json.loads(body, object_pairs_hook=_once)
        return parsed
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "body"
        raise Refused(422, f"{where}: {first['msg']}") from error


def _once(pairs: list[tuple[str, Any]]) -> None:
    """Refuse an object with a repeated key: of two systems with one name, one would be dropped silently."""
    names = Counter(name for name, _ in pairs)
    repeated = next((name for name, count in names.items() if count > 1), None)
    if repeated is not None:
        raise Refused(422, f"{repeated!r} occurs twice: every name may occur once")


def served_metrics() -> dict[str, type[Metric]]:
    """Return the metrics that may be asked for over HTTP."""
    return {metric: kind for metric, kind in list_metrics().items() if kind.served}


def wanted_metrics(wanted: ScoreRequest, model: str) -> list[Metric]:
    """Return the metrics of a request; options belong to a single one."""
    if not wanted.metrics:
        return [find_metric(wanted.metric, wanted.options, model)]
    if "metric" in wanted.model_fields_set or wanted.options:
        raise Refused(422, "metrics: give one metric with its options, or several metrics without any")
    return [find_metric(name, {}, model) for name in dict.fromkeys(wanted.metrics)]


def find_metric(name: str, options: dict[str, Any], model: str) -> Metric:
    """Return a metric, or a weighted sum of metrics, that may be used over HTTP."""
    try:
        terms = parse_terms(name)
        if not terms:
            return _find_one(name, options, model)
        fields = {one: _option_names(one) for _, one in terms}
        if unknown := sorted(options.keys() - set().union(*fields.values())):
            raise PrismError(f"{name} has no option {unknown[0]!r}")
        own = {one: {key: value for key, value in options.items() if key in fields[one]} for one in fields}
        return Combined(terms=tuple((weight, _find_one(one, own[one], model)) for weight, one in terms))
    except PrismError as error:
        raise Refused(422, plain(error)) from error


def _find_one(name: str, options: dict[str, Any], model: str) -> Metric:
    given = {"model": model, **options} if "model" in _option_names(name) else options
    return make(served_metrics()[name], given, name)


def _option_names(name: str) -> set[str]:
    known = served_metrics()
    if name not in known:
        raise PrismError(f"no metric {name!r}; known: {', '.join(known)}")
    return {field.name for field in dataclasses.fields(known[name])}


def check_texts(
    wanted: Texts, systems: dict[str, list[str]], metrics: Sequence[Metric], limit: Limits
) -> ParallelText:
    """Refuse what takes too much work, and then what no metric can score."""
    _check_size(wanted, systems, len(metrics), limit)
    try:
        text = parallel_text(systems, wanted.ref or None, wanted.src)
        text.count()
        check_needs(metrics, text, Languages(wanted.lang, wanted.src_lang or ""))
    except PrismError as error:
        raise Refused(422, plain(error)) from error
    return text


def _check_size(wanted: Texts, systems: dict[str, list[str]], metrics: int, limit: Limits) -> None:
    """Count by adding up lengths only: the check itself must be cheap."""
    outputs = sum(map(len, systems.values()))
    for found, most, what in (
        (len(systems), limit.systems, "systems"),
        (outputs, limit.segments, "outputs"),
        (outputs * max(1, len(wanted.ref)) * metrics, limit.comparisons, "outputs times references and metrics"),
        (_longest(wanted, systems), limit.characters, "characters in one text and what it is compared with"),
    ):
        if found > most:
            raise Refused(413, f"a request may have {most:,} {what}, not {found:,}: send several")


def _longest(wanted: Texts, systems: dict[str, list[str]]) -> int:
    """Characters of the longest segment: an output with all its references and its source."""
    compared: Counter[int] = Counter()
    for texts in (*wanted.ref, wanted.src or ()):
        for place, text in enumerate(texts):
            compared[place] += len(text)
    outputs = (len(text) + compared[place] for texts in systems.values() for place, text in enumerate(texts))
    return max(outputs, default=0)


def plain(error: PrismError) -> str:
    """Name fields as in JSON: errors write them as Python arguments, such as `ref=`."""
    return re.sub(r"`([a-z_]+)=`", r"\1", str(error))
