"""`prism cache`: show and shrink cached results."""

from dataclasses import dataclass
from typing import cast

from prism_mt._core.arguments import Command, Group
from prism_mt._core.cache import (
    STORES,
    Freed,
    StoreName,
    clear_store,
    parse_size,
    prune_store,
    store_info,
)
from prism_mt._core.environment import cache_folder
from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option, suggestion
from prism_mt.cli.output import terminal_width
from prism_mt.report.table import Column, Format, Table, render

_ENTRIES: dict[StoreName, str] = {
    "scores": "scored pairs of texts",
    "encodings": "texts as vectors",
    "nbest": "n-best lists",
    "studies": "parts of published tables",
}
_STORES = f"{', '.join(STORES)} (default: all of them)"


@dataclass(frozen=True, kw_only=True)
class InfoOptions(Config):
    """Options of `prism cache info`."""

    format: Format = option("output format", "text")


@dataclass(frozen=True, kw_only=True)
class ClearOptions(Config):
    """Options of `prism cache clear`."""

    stores: list[str] = option(_STORES, [], positional=True)


@dataclass(frozen=True, kw_only=True)
class PruneOptions(Config):
    """Options of `prism cache prune`."""

    stores: list[str] = option(_STORES, [], positional=True)
    limit: str | None = option(
        "bytes to keep of each, such as 500M or 2G (default: PRISM_CACHE_LIMIT, or 4G, and 32G for encodings)",
        None,
        metavar="SIZE",
    )


def run_info(options: InfoOptions) -> None:
    """Print the content and size of the cache directory."""
    folder = cache_folder()
    rows = [("folder", str(folder))]
    for name in STORES:
        info = store_info(name)
        text = (
            f"{info.entries:,} {_ENTRIES[name]}, {_bytes(info.size)} of {_bytes(info.limit)}" if info else "none"
        )
        rows.append((name, text))
    for part in sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []:
        items = sum(1 for _ in part.iterdir())
        size = sum(path.stat().st_size for path in part.rglob("*") if path.is_file())
        rows.append((part.name, f"{items:,} {'entry' if items == 1 else 'entries'}, {_bytes(size)}"))
    print(render(Table((Column("what"), Column("value")), tuple(rows)), options.format, terminal_width()), end="")


def run_clear(options: ClearOptions) -> None:
    """Drop cached results; damaged files are removed."""
    for name in _chosen(options.stores):
        _report(name, clear_store(name))


def run_prune(options: PruneOptions) -> None:
    """Drop the oldest results until the rest fits."""
    limit = None if options.limit is None else parse_size(options.limit)
    for name in _chosen(options.stores):
        _report(name, prune_store(name, limit))


def _chosen(names: list[str]) -> list[StoreName]:
    for name in names:
        if name not in STORES:
            raise PrismError(f"the cache has no {name!r}{suggestion(name, STORES)}")
    return [cast(StoreName, name) for name in names] or list(STORES)


def _report(name: StoreName, freed: Freed | None) -> None:
    if freed is None:
        print(f"{name}: nothing cached")
    else:
        print(f"{name}: dropped {freed.entries:,} {_ENTRIES[name]}, freed {_bytes(freed.size)}")


def _bytes(size: int) -> str:
    """Format a size."""
    value = float(size)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


COMMAND = Group(
    "cache",
    "Cached scores, encodings (texts as vectors) and n-best lists: show their size, and free space.",
    (
        Command("info", "Show what is cached and its size.", (InfoOptions,), run_info),
        Command("clear", "Drop cached scores, encodings and n-best lists.", (ClearOptions,), run_clear),
        Command("prune", "Drop the oldest entries until the rest fits.", (PruneOptions,), run_prune),
    ),
)
