"""`prism serve`: a page to paste texts into, and a JSON API, on this machine."""

import os
import sys
from dataclasses import dataclass, replace

from prism_mt._core.allocator import release_freed_memory
from prism_mt._core.arguments import Command
from prism_mt._core.errors import MissingExtra
from prism_mt._core.options import Config, option
from prism_mt.engines.config import device_kind
from prism_mt.engines.factory import EngineConfig
from prism_mt.metrics.runtime import Runtime
from prism_mt.models.resolve import DEFAULT_MODEL

_CONNECTIONS = 256
_BATCH_TOKENS = 512
"""Default on a CPU, a quarter of what a command takes: requests are small, and a server should be, too."""


@dataclass(frozen=True)
class ServeOptions(Config):
    """Options of `prism serve`."""

    model: list[str] = option("models to choose from; the first is the default", [DEFAULT_MODEL], metavar="M")
    host: str = option("address to listen on; any but the loopback address is open to everyone", "127.0.0.1")
    name: list[str] = option("host names under which this machine may be addressed, besides its addresses", [])
    port: int = option("port to listen on", 8000, metavar="N", low=1, high=65535)


def run(options: ServeOptions, engine: EngineConfig) -> None:
    """Load the models and serve until interrupted."""
    try:
        import uvicorn

        from prism_mt.serve.app import make_app
    except ImportError as error:
        raise MissingExtra("serving scores", "serve") from error
    from prism_mt.serve.connections import Impatient, Server, listen
    from prism_mt.serve.scorer import ScoringThreads

    opened = listen(options.host, options.port)
    if engine.batch_tokens is None and device_kind(engine) == "cpu":
        engine = replace(engine, batch_tokens=_BATCH_TOKENS)
    runtime = Runtime(engine)
    for model in options.model:
        runtime.engine(model).budget  # noqa: B018  loads it now, so that mistakes show here
    release_freed_memory()
    scorer = ScoringThreads(runtime, options.model)
    app = make_app(scorer, options.model, names=[options.host, *options.name])
    settings = uvicorn.Config(
        app, http=Impatient, log_level="warning", limit_concurrency=_CONNECTIONS, timeout_graceful_shutdown=1
    )
    print(
        f"Prism is serving at http://{_in_address(options.host)}:{options.port}/ (press Ctrl-C to stop)",
        flush=True,
    )
    try:
        Server(settings, scorer.close).run([opened])
    finally:
        if not scorer.close():
            _leave()


def _leave() -> None:
    """End without cleaning up, which would abort where a model is still at work."""
    print("prism: interrupted", file=sys.stderr, flush=True)
    os._exit(130)


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


COMMAND = Command(
    "serve",
    "Serve scores on this machine: a page to paste texts into, and POST /score for programs.",
    (ServeOptions, EngineConfig),
    run,
    epilog="""example:
  prism serve --port 8000
  curl -s localhost:8000/score -H 'Content-Type: application/json' \\
    -d '{"cand": ["Hello world!"], "ref": ["Hello, world."], "lang": "en"}'
""",
)
