"""The web application: a page to paste texts into, and `POST /score`.

It reads no files but its own page: models are chosen when it starts, and requests carry their texts.
"""

import asyncio
import dataclasses
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import ClientDisconnect

from prism_mt._core.errors import PrismError
from prism_mt._core.options import make
from prism_mt.metrics.base import Languages, Metric, Segment
from prism_mt.metrics.registry import list_metrics
from prism_mt.metrics.score import check_needs, collect_scores
from prism_mt.metrics.scores import Scores
from prism_mt.report.page import render_form
from prism_mt.report.systems import compare
from prism_mt.serve.scorer import Answer, Job, ScoringThreads, Task
from prism_mt.text.parallel import ParallelText, parallel_text

_Kind = TypeVar("_Kind", bound=BaseModel)


@dataclass(frozen=True)
class Limits:
    """What one request may ask for."""

    bytes: int = 4_000_000
    segments: int = 5_000
    seconds: float = 120.0


class Texts(BaseModel):
    """What both kinds of requests have in common."""

    model_config = ConfigDict(extra="forbid", strict=True)

    ref: list[list[str]] = Field(default=[], description="a list of texts for every reference")
    src: list[str] | None = Field(default=None, description="sources, where the metric needs them")
    lang: str = Field(default="", description="language of the outputs; surface metrics do without")
    src_lang: str | None = None
    model: str | None = Field(default=None, description="one of the models that are served; the first by default")


class ScoreRequest(Texts):
    """Body of `POST /score`."""

    cand: list[str] = Field(min_length=1, description="outputs of one system")
    metric: str = Field(default="prism-ref", description="name of a metric")
    options: dict[str, Any] = Field(default={}, description="options of the metric, by name")
    tokens: bool = Field(default=False, description="also return every piece with its log-probability")


class ReportRequest(Texts):
    """Body of `POST /report`."""

    systems: dict[str, list[str]] = Field(min_length=1, description="outputs by system")
    metrics: list[str] = Field(default=["prism-ref"], min_length=1, description="names of metrics")


class Trace(BaseModel):
    """Pieces of one text, each with its natural-log probability given the other text."""

    direction: str = Field(description="which given which, such as hypothesis|reference")
    pieces: list[str]
    scores: list[float]


class ScoreAnswer(BaseModel):
    """What `POST /score` answers."""

    score: float = Field(description="score of the system")
    segments: list[float] = Field(description="score of every output")
    signature: str = Field(description="everything that the numbers depend on")
    tokens: list[list[Trace]] | None = Field(default=None, description="where asked for: of every output")


class Trouble(BaseModel):
    """What every request gets that cannot be answered."""

    error: str


class Refused(Exception):
    """A request that gets an error and a status instead of an answer."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


_TROUBLE: dict[int | str, dict[str, Any]] = {
    408: {"model": Trouble, "description": "the request did not arrive in time"},
    413: {"model": Trouble, "description": "more bytes or outputs than one request may have"},
    415: {"model": Trouble, "description": "not sent as application/json"},
    422: {"model": Trouble, "description": "the sentence says what is wrong"},
    503: {"model": Trouble, "description": "not done in time"},
}


def make_app(scorer: ScoringThreads, models: Sequence[str], limits: Limits | None = None) -> FastAPI:
    """The application over a running scorer."""
    limit = limits or Limits()
    app = FastAPI(title="Prism", docs_url=None, redoc_url=None)  # their pages would load scripts from elsewhere

    @app.exception_handler(Refused)
    def refuse(request: Request, error: Refused) -> JSONResponse:
        return JSONResponse({"error": str(error)}, error.status)

    @app.get("/", response_class=HTMLResponse)
    def form() -> str:
        return render_form(models, [name for name, kind in list_metrics().items() if kind.served])

    @app.post("/score", openapi_extra=_body(ScoreRequest), responses={200: {"model": ScoreAnswer}, **_TROUBLE})
    async def score(request: Request) -> Response:
        """Scores of one system: its score, those of its segments, and the signature."""
        wanted = _parse(ScoreRequest, await _read(request, limit))
        metric = _metric(wanted.metric, wanted.options, wanted.model or models[0])
        text = _check(wanted, {"cand": wanted.cand}, [metric], limit)
        jobs = _submit(scorer, wanted, text, [metric], wanted.tokens)
        [answer] = await _answers(request, jobs, limit)
        # Made here: what FastAPI would do, to look at every number, takes longer.
        return Response(json.dumps(_scores(answer, wanted.tokens)), media_type="application/json")

    @app.post("/report", response_class=HTMLResponse, openapi_extra=_body(ReportRequest), responses=_TROUBLE)
    async def report(request: Request) -> Response:
        """The page of `prism compare --html` for several systems."""
        wanted = _parse(ReportRequest, await _read(request, limit))
        names = dict.fromkeys(wanted.metrics)
        metrics = [_metric(name, {}, wanted.model or models[0]) for name in names]
        text = _check(wanted, wanted.systems, metrics, limit)
        answers = await _answers(request, _submit(scorer, wanted, text, metrics, tokens=True), limit)
        return HTMLResponse(await asyncio.to_thread(_report, text, wanted.lang, answers))

    return app


def _body(kind: type[BaseModel]) -> dict[str, Any]:
    return {
        "requestBody": {"required": True, "content": {"application/json": {"schema": kind.model_json_schema()}}}
    }


async def _read(request: Request, limit: Limits) -> bytes:
    """The body, given up as soon as it is too large or slow. Only JSON is taken: pages cannot send that unasked."""
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
            raise Refused(413, f"a request may have {most:,} bytes: send the texts in several")
    return bytes(body)


def _parse(kind: type[_Kind], body: bytes) -> _Kind:
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "body"
        raise Refused(422, f"{where}: {first['msg']}") from error


def _metric(name: str, options: dict[str, Any], model: str) -> Metric:
    """Return a metric that may be asked for over HTTP."""
    known = {metric: kind for metric, kind in list_metrics().items() if kind.served}
    if name not in known:
        raise Refused(422, f"no metric {name!r}; there are {', '.join(known)}")
    if "model" in {field.name for field in dataclasses.fields(known[name])}:
        options = {"model": model, **options}
    try:
        return make(known[name], options, name)
    except PrismError as error:
        raise Refused(422, _plain(error)) from error


def _check(wanted: Texts, systems: dict[str, list[str]], metrics: Sequence[Metric], limit: Limits) -> ParallelText:
    """Refuse what no metric can score."""
    try:
        text = parallel_text(systems, wanted.ref or None, wanted.src)
        count = text.count()
        check_needs(metrics, text, Languages(wanted.lang, wanted.src_lang or ""))
    except PrismError as error:
        raise Refused(422, _plain(error)) from error
    if count * len(systems) > limit.segments:
        raise Refused(413, f"a request may have {limit.segments:,} outputs: send them in several")
    return text


def _plain(error: PrismError) -> str:
    """Name fields as JSON does: errors write them as Python's arguments, such as `ref=`."""
    return re.sub(r"`([a-z_]+)=`", r"\1", str(error))


def _submit(
    scorer: ScoringThreads, wanted: Texts, text: ParallelText, metrics: Sequence[Metric], tokens: bool
) -> list[Job]:
    """Queue all systems, segment by segment, once for every metric."""
    segments: list[Segment] = list(text.segments())
    languages = Languages(wanted.lang, wanted.src_lang or "")
    return [scorer.submit(Task(metric, languages, len(wanted.ref), tokens), segments) for metric in metrics]


async def _answers(request: Request, jobs: Sequence[Job], limit: Limits) -> list[Answer]:
    """Wait for the scores, but neither too long nor for someone who has gone."""
    scores = asyncio.gather(*(asyncio.wrap_future(job.answer) for job in jobs))
    gone = asyncio.ensure_future(
        request.receive()
    )  # the body is read: the next message is that the client has left
    try:
        first: set[asyncio.Future[Any]] = {scores, gone}
        await asyncio.wait(first, timeout=limit.seconds, return_when=asyncio.FIRST_COMPLETED)
        if scores.done():
            return scores.result()
        if gone.done():
            raise Refused(499, "the client has gone")
        raise Refused(503, f"not done within {limit.seconds:g} seconds: send fewer texts, or try again")
    except PrismError as error:
        raise Refused(422, _plain(error)) from error
    finally:
        gone.cancel()
        scores.cancel()
        for job in jobs:
            job.abandon()


def _scores(answer: Answer, tokens: bool) -> dict[str, Any]:
    scores = collect_scores(answer.metric, answer.signature, ("cand",), answer.scores)
    found: dict[str, Any] = {
        "score": float(scores.system_scores[0]),
        "segments": scores.segments[0].tolist(),
        "signature": scores.signature,
    }
    if tokens:
        found["tokens"] = [
            [{"direction": t.direction, "pieces": t.pieces, "scores": t.scores} for t in result.tokens]
            for result in answer.scores
        ]
    return found


def _report(text: ParallelText, language: str, answers: Sequence[Answer]) -> str:
    scores = [collect_scores(one.metric, one.signature, text.names, one.scores, tokens=True) for one in answers]
    return compare(Scores(scores, text, Languages(language))).to_html()
