"""The web application: a page to paste texts into, and `POST /score`.

It reads no files but its own page: models are chosen when it starts, and requests carry their texts.
"""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel

from prism_mt import __version__
from prism_mt._core.errors import PrismError
from prism_mt.metrics.base import Languages, Metric, Segment
from prism_mt.metrics.score import collect_scores
from prism_mt.metrics.scores import Scores
from prism_mt.metrics.spans.scorer import check_errors
from prism_mt.report.page import render_form
from prism_mt.report.systems import compare
from prism_mt.serve.connections import OwnHosts
from prism_mt.serve.docs import docs_page
from prism_mt.serve.lanes import Answer, Busy, Job, Task
from prism_mt.serve.requests import (
    Health,
    Limits,
    Refused,
    ReportRequest,
    ScoreAnswer,
    ScoreRequest,
    SeveralAnswer,
    Texts,
    Trouble,
    check_texts,
    find_metric,
    parse_body,
    read_body,
    served_metrics,
    wanted_metrics,
)
from prism_mt.serve.scorer import ScoringThreads
from prism_mt.serve.waiting import Work, wait_for
from prism_mt.text.parallel import ParallelText, parallel_text

_TROUBLE: dict[int | str, dict[str, Any]] = {
    408: {"model": Trouble, "description": "the request did not arrive in time"},
    413: {"model": Trouble, "description": "too many bytes or outputs for one request"},
    415: {"model": Trouble, "description": "not sent as application/json"},
    422: {"model": Trouble, "description": "the message says what is wrong"},
    503: {"model": Trouble, "description": "not done in time"},
}


def make_app(
    scorer: ScoringThreads, models: Sequence[str], limits: Limits | None = None, names: Sequence[str] = ()
) -> FastAPI:
    """Create the application on a running scorer; `names` are this machine's names besides localhost and addresses."""
    limit = limits or Limits()
    app = FastAPI(title="Prism", docs_url=None, redoc_url=None)  # their pages would load scripts from elsewhere
    app.add_middleware(OwnHosts, names=frozenset(names))

    @app.exception_handler(Refused)
    async def refuse(request: Request, error: Refused) -> JSONResponse:
        return JSONResponse({"error": str(error)}, error.status)

    _add_pages(app, scorer, models)
    answers_of_score = {200: {"model": ScoreAnswer | SeveralAnswer, "description": "scores"}, **_TROUBLE}

    @app.post("/score", openapi_extra=_body(ScoreRequest), responses=answers_of_score)
    async def score(request: Request) -> Response:
        """Scores of one system: its score, those of its segments, and the signature; of several metrics a list."""
        wanted = parse_body(ScoreRequest, await read_body(request, limit))
        metrics = wanted_metrics(wanted, wanted.model or models[0])
        text = check_texts(wanted, {"cand": wanted.cand}, metrics, limit)
        answers = await wait_for(request, _submit_scores(scorer, wanted, text, metrics), limit)
        found = [_scores(answer, wanted) for answer in answers]
        several = {
            "metrics": [{"metric": one.metric.name, **own} for one, own in zip(answers, found, strict=True)]
        }
        # Rendered here: FastAPI would validate every number, which takes longer.
        return Response(json.dumps(several if wanted.metrics else found[0]), media_type="application/json")

    @app.post("/report", response_class=HTMLResponse, openapi_extra=_body(ReportRequest), responses=_TROUBLE)
    async def report(request: Request) -> Response:
        """Return the page of `prism compare --html` for several systems."""
        wanted = parse_body(ReportRequest, await read_body(request, limit))
        names = dict.fromkeys(wanted.metrics)
        metrics = [find_metric(name, {}, wanted.model or models[0]) for name in names]
        text = check_texts(wanted, wanted.systems, metrics, limit)
        answers = await wait_for(request, _submit(scorer, wanted, text, metrics, tokens=True), limit)
        work = Work(partial(scorer.reporters.run, make_report, wanted, answers, seconds=limit.seconds))
        [html] = await wait_for(request, [work], limit)
        return HTMLResponse(html)

    return app


def _add_pages(app: FastAPI, scorer: ScoringThreads, models: Sequence[str]) -> None:
    """Add the routes that need no texts."""

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    def form() -> str:
        languages = {code: name for model in models for code, name in scorer.languages(model).items()}
        return render_form(models, list(served_metrics()), dict(sorted(languages.items(), key=lambda one: one[1])))

    @app.get("/docs", response_class=HTMLResponse, include_in_schema=False)
    def docs(request: Request) -> str:
        return docs_page(app.openapi(), str(request.base_url))

    @app.get("/health")
    def health() -> Health:
        """Whether the server is there, and what it serves."""
        return Health(status="ok", version=__version__, models=list(models), metrics=list(served_metrics()))

    @app.get("/languages")
    def languages() -> dict[str, dict[str, str]]:
        """The languages of every model: codes, and names in English."""
        return {model: scorer.languages(model) for model in models}


def _body(kind: type[BaseModel]) -> dict[str, Any]:
    return {
        "requestBody": {"required": True, "content": {"application/json": {"schema": kind.model_json_schema()}}}
    }


def _submit(
    scorer: ScoringThreads,
    wanted: Texts,
    text: ParallelText,
    metrics: Sequence[Metric],
    tokens: bool,
    spans: bool = False,
    error_free: bool = False,
) -> list[Job]:
    """Queue all systems, segment by segment, once per metric."""
    segments: list[Segment] = list(text.segments())
    languages = Languages(wanted.lang, wanted.src_lang or "")
    jobs: list[Job] = []
    try:
        for metric in metrics:
            task = Task(metric, languages, len(wanted.ref), tokens, spans, error_free)
            jobs.append(scorer.submit(task, segments))
    except Busy as error:
        for job in jobs:
            job.abandon()
        raise Refused(503, str(error)) from error
    return jobs


def _submit_scores(
    scorer: ScoringThreads, wanted: ScoreRequest, text: ParallelText, metrics: Sequence[Metric]
) -> list[Job]:
    if wanted.spans or wanted.error_free:
        try:
            check_errors(metrics)
        except PrismError as error:
            raise Refused(422, str(error)) from error
    return _submit(scorer, wanted, text, metrics, wanted.tokens, wanted.spans, wanted.error_free)


def _scores(answer: Answer, wanted: ScoreRequest) -> dict[str, Any]:
    scores = collect_scores(answer.metric, answer.signature, ("cand",), answer.scores)
    found: dict[str, Any] = {
        "score": float(scores.system_scores[0]),
        "segments": scores.segments[0].tolist(),
        "signature": scores.signature,
    }
    if wanted.tokens:
        found["tokens"] = [
            [{"direction": t.direction, "pieces": t.pieces, "scores": t.scores} for t in result.tokens]
            for result in answer.scores
        ]
    if wanted.spans and answer.metric.has_both_directions:
        found["spans"] = [[span.to_dict() for span in result.spans] for result in answer.scores]
    if wanted.error_free and answer.metric.has_both_directions:
        found["error_free"] = [result.error_free for result in answer.scores]
    return found


def make_report(wanted: ReportRequest, answers: Sequence[Answer]) -> str:
    """Render the page of a comparison, in a process so that it can be stopped."""
    text = parallel_text(wanted.systems, wanted.ref or None, wanted.src)
    scores = [collect_scores(one.metric, one.signature, text.names, one.scores, tokens=True) for one in answers]
    return compare(Scores(scores, text, Languages(wanted.lang))).to_html()
