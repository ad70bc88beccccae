"""Challenge sets: the function `prism_mt.challenge`, its tables and its plot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from prism_mt._core.errors import PrismError
from prism_mt.engines.factory import EngineConfig
from prism_mt.evaluation.challenge import ChallengeResult, perturbed_contrasts, run_challenge
from prism_mt.evaluation.readers.challenge_sets import BUILTIN, read_contrasts, read_texts
from prism_mt.metrics.base import Metric
from prism_mt.metrics.registry import make_metrics
from prism_mt.metrics.runtime import Runtime
from prism_mt.report.table import Column, Format, Table, Value, number, render_all
from prism_mt.stats.arrays import Mask
from prism_mt.text.perturb import KINDS, Kind


@dataclass(frozen=True, eq=False)
class Challenge:
    """How often metrics prefer the good translation, by phenomenon and by language."""

    result: ChallengeResult

    def tables(self) -> list[Table]:
        """Return accuracy by phenomenon, and by language if there are several."""
        found = [self._table("phenomenon", self.result.phenomena)]
        if len(self.result.languages) > 1:
            found.append(self._table("language", self.result.languages))
        return found

    def _table(self, title: str, groups: Mapping[str, Mask]) -> Table:
        result = self.result
        rows: list[tuple[Value, ...]] = [
            (name, int(mask.sum()), *(100 * result.accuracy(outcome, mask) for outcome in result.outcomes))
            for name, mask in groups.items()
            if not all(np.isnan(outcome.right[mask]).all() for outcome in result.outcomes)
        ]
        everything = (100 * result.accuracy(outcome) for outcome in result.outcomes)
        rows.append(("all", len(result.contrasts), *everything))
        columns = (
            Column(title),
            Column("contrasts", ",", "right"),
            *(number(outcome.metric, 1) for outcome in result.outcomes),
        )
        caption = f"Accuracy by {title}: the good translation scores higher, % of contrasts"
        return Table(columns, tuple(rows), caption, notes=self._notes())

    def _notes(self) -> tuple[str, ...]:
        found = []
        for outcome in self.result.outcomes:
            left_out = int(np.isnan(outcome.right).sum())
            if left_out:
                found.append(
                    f"{outcome.metric}: {left_out:,} contrasts left out, in languages that it does not support"
                )
        return tuple(found)

    def to_text(self, format: Format = "text", width: int | None = None) -> str:
        """Render the tables."""
        return render_all(self.tables(), format, width)

    def plot(self, path: str | Path) -> None:
        """Plot accuracy by phenomenon; the suffix of the path (png, pdf, svg) determines the format."""
        from prism_mt.report.plots import plot_groups

        result = self.result
        values = {
            outcome.metric: [100 * result.accuracy(outcome, mask) for mask in result.phenomena.values()]
            for outcome in result.outcomes
        }
        plot_groups(list(result.phenomena), values, "accuracy, %", Path(path), chance=50.0)

    def __repr__(self) -> str:
        return self.to_text().rstrip("\n")


def challenge(
    files: str | Path | Sequence[str | Path] = "builtin",
    metrics: Sequence[str | Metric] | str | Metric = "prism-ref",
    *,
    texts: Mapping[str, Sequence[str]] | str | Path | None = None,
    languages: Sequence[str] = (),
    src_lang: str = "en",
    kinds: Sequence[Kind] = KINDS,
    segments: int | None = None,
    seed: int = 0,
    config: EngineConfig | None = None,
    runtime: Runtime | None = None,
) -> Challenge:
    """Count how often metrics prefer good translations to bad ones.

    `files` are in the layout of DEMETR or ACES. `builtin` perturbs references instead: those of the package, or
    parallel `texts` by language (a file has a JSON object on each line, or plain text in one language), of which
    the first `segments` are used. Languages that a model does not support are left out.
    """
    given = [files] if isinstance(files, str | Path) else list(files)
    chosen = make_metrics([metrics] if isinstance(metrics, str | Metric) else metrics)
    if [str(file) for file in given] == ["builtin"]:
        read = texts if isinstance(texts, Mapping) else read_texts(texts or BUILTIN, languages)
        first = {language: list(own)[:segments] for language, own in read.items()}
        contrasts = perturbed_contrasts(first, languages, source=src_lang, kinds=kinds, seed=seed)
    else:
        if texts is not None:
            raise PrismError("`texts=` are perturbed for the builtin set: leave out the files, or the texts")
        contrasts = read_contrasts(given)
    return Challenge(run_challenge(contrasts, chosen, runtime or Runtime(config)))
