"""Progress bars on a terminal, nothing in a pipe."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

_listeners: list[Callable[[int], None]] = []
"""Bars on show, the innermost last."""


def computed(count: int) -> None:
    """Tell the bar on show that so many items were computed, long before their results come out in order."""
    if _listeners:
        _listeners[-1](count)


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
        TextColumn("{task.fields[computed]}"),
    )
    # rich passes what is printed meanwhile through its console, that is to standard error: on a terminal, so that the
    # bar stays below it, but never what belongs in a file or a pipe. Without soft_wrap it would break long lines.
    console = Console(stderr=True, soft_wrap=True)
    redirect = sys.stdout.isatty()
    with Progress(*columns, console=console, transient=True, redirect_stdout=redirect) as progress:
        task = progress.add_task(description, total=total, computed="")
        done = 0

        def listen(count: int) -> None:
            nonlocal done
            done += count
            progress.update(task, computed=f"{done:,} computed")

        _listeners.append(listen)
        try:
            yield lambda: progress.advance(task)
        finally:
            _listeners.remove(listen)


def track(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """Pass `items` through while showing how many of `total` are done."""
    with counter(description, total) as advance:
        for item in items:
            yield item
            advance()
