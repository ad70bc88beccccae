"""Progress bars on a terminal, nothing in a pipe."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def counter(description: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """Show a bar on standard error; call the yielded function once per finished item."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(description, total=total)
        yield lambda: progress.advance(task)


def track(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """Pass `items` through while showing how many of `total` are done."""
    with counter(description, total) as advance:
        for item in items:
            yield item
            advance()
