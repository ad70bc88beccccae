"""`prism serve`: a page to paste texts into, and a JSON API, on this machine."""

from dataclasses import dataclass, replace

from prism_mt._core.arguments import Command, option
from prism_mt._core.errors import MissingExtra, PrismError
from prism_mt.engines.factory import EngineConfig
from prism_mt.metrics.registry import ModelInUse
from prism_mt.models.resolve import DEFAULT_MODEL


@dataclass
class ServeOptions:
    """Options of `prism serve`."""

    model: list[str] = option("models to choose from, the first by default", [DEFAULT_MODEL], metavar="M")
    host: str = option("address to listen on; others than this machine's are open to everyone", "127.0.0.1")
    port: int = option("port to listen on", 8000, metavar="N")


def run(options: ServeOptions, engine: EngineConfig) -> None:
    """Load the models and answer until interrupted."""
    if not 0 < options.port < 65536:
        raise PrismError(f"a port is a number from 1 to 65535, not {options.port}")
    try:
        import uvicorn

        from prism_mt.serve.app import make_app
    except ImportError as error:
        raise MissingExtra("serving scores", "serve") from error
    from prism_mt.serve.scorer import Scorer

    # Texts that people paste are not kept, and the models are loaded before the first of them comes.
    models = {name: ModelInUse(name, replace(engine, cache=False)) for name in options.model}
    for model in models.values():
        model.engine  # noqa: B018  loads it now, so that mistakes show here
    scorer = Scorer(models)
    print(f"Prism is at http://{options.host}:{options.port}/ (Ctrl-C ends it)", flush=True)
    try:
        uvicorn.run(make_app(scorer, list(models)), host=options.host, port=options.port, log_level="warning")
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
