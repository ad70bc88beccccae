"""`prism serve`: a page to paste texts into, and a JSON API, on this machine."""

from dataclasses import dataclass

from prism_mt._core.arguments import Command
from prism_mt._core.errors import MissingExtra
from prism_mt._core.options import Config, option
from prism_mt.engines.factory import EngineConfig
from prism_mt.metrics.runtime import Runtime
from prism_mt.models.resolve import DEFAULT_MODEL


@dataclass(frozen=True)
class ServeOptions(Config):
    """Options of `prism serve`."""

    model: list[str] = option("models to choose from, the first by default", [DEFAULT_MODEL], metavar="M")
    host: str = option("address to listen on; others than this machine's are open to everyone", "127.0.0.1")
    port: int = option("port to listen on", 8000, metavar="N", low=1, high=65535)


def run(options: ServeOptions, engine: EngineConfig) -> None:
    """Load the models and answer until interrupted."""
    try:
        import uvicorn

        from prism_mt.serve.app import make_app
    except ImportError as error:
        raise MissingExtra("serving scores", "serve") from error
    from prism_mt.serve.scorer import ScoringThreads

    runtime = Runtime(engine)
    for model in options.model:
        runtime.engine(model).budget  # noqa: B018  loads it now, so that mistakes show here
    scorer = ScoringThreads(runtime, options.model)
    print(f"Prism is at http://{options.host}:{options.port}/ (Ctrl-C ends it)", flush=True)
    try:
        uvicorn.run(make_app(scorer, options.model), host=options.host, port=options.port, log_level="warning")
    finally:
        scorer.close()


COMMAND = Command(
    "serve",
    "Serve scores on this machine: a page to paste texts into, and POST /score for programs.",
    (ServeOptions, EngineConfig),
    run,
    epilog="""example:
  prism serve --port 8000
  curl -s localhost:8000/score -H 'Content-Type: application/json' \\
    -d '{"cand": ["Hello world!"], "ref": [["Hello, world."]], "lang": "en"}'
""",
)
