"""Studies by identifier: every published table is one, and functions that compute cells are added to theirs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from prism_mt._core.errors import PrismError
from prism_mt._core.options import near
from prism_mt.evaluation.studies.base import ModelUse, Run, Study
from prism_mt.evaluation.studies.published import PAPERS, read_paper


@dataclass(frozen=True)
class _Runner:
    run: Run
    files: tuple[str, ...]
    model: ModelUse
    scores_texts: bool


_RUNNERS: dict[str, _Runner] = {}


def runs(
    *ids: str, files: Sequence[str] = (), model: ModelUse = "none", scores_texts: bool = False
) -> Callable[[Run], Run]:
    """Declare that a function computes the cells of studies, from which files, and what it uses."""

    def add(run: Run) -> Run:
        for one in ids:
            _RUNNERS[one] = _Runner(run, tuple(files), model, scores_texts)
        return run

    return add


@cache
def studies() -> dict[str, Study]:
    """Return all studies by identifier, in the order of the papers' tables."""
    found = {}
    for name in PAPERS:
        import_module(f"prism_mt.evaluation.studies.{name}")
        paper = read_paper(name)
        for table in paper.tables:
            known = _RUNNERS.get(table.id)
            found[table.id] = (
                Study(table.id, paper.authors, table, known.files, known.model, known.run, known.scores_texts)
                if known
                else Study(table.id, paper.authors, table)
            )
    return found


def find_studies(names: Sequence[str]) -> list[Study]:
    """Return the studies of identifiers; a paper's name stands for all its tables, `all` for everything."""
    known = studies()
    found: dict[str, Study] = {}
    for name in names:
        chosen = [one for one in known if name in ("all", one, one.partition("/")[0])]
        if not chosen:
            papers = f"; papers: {', '.join(PAPERS)}; `prism reproduce list` shows their studies"
            raise PrismError(f"there is no study {name!r}{near(name, [*PAPERS, *known]) or papers}")
        found.update((one, known[one]) for one in chosen)
    return list(found.values())
