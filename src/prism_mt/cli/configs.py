"""`prism configs`: example configurations that come with the package."""

from dataclasses import dataclass
from pathlib import Path

from prism_mt._core.arguments import Command
from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option

FOLDER = Path(__file__).parent.parent / "assets" / "configs"


@dataclass(frozen=True)
class ConfigsOptions(Config):
    """Options of `prism configs`."""

    name: str | None = option("print this one", None, positional=True)


def run(options: ConfigsOptions) -> None:
    """Print one configuration, or list all with their first lines."""
    known = {path.stem: path for path in sorted(FOLDER.glob("*.toml"), key=lambda path: path.stem)}
    if options.name is None:
        for name, path in known.items():
            print(f"{name:<16} {_title(path)}")
        return
    name = options.name.removesuffix(".toml")
    if name not in known:
        raise PrismError(f"no configuration {name!r}; known: {', '.join(known)}")
    print(known[name].read_text(encoding="utf-8"), end="")


def _title(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


COMMAND = Command(
    "configs",
    "Print a configuration that comes with the package, or list them all.",
    (ConfigsOptions,),
    run,
    epilog="""examples:
  prism configs
  prism configs mini-corpus > corpus.toml""",
)
