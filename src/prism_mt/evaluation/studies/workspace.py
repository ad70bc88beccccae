"""The workspace of studies: data, a model if given, and a cache of everything that takes time."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from prism_mt._core.cache import Keys, Store
from prism_mt._core.files import sha256_of
from prism_mt.evaluation.judgments import Judgments, add_texts
from prism_mt.evaluation.readers import read_all_judgments
from prism_mt.evaluation.readers.scores import read_scores
from prism_mt.evaluation.scoring import TextScorer, score_texts
from prism_mt.evaluation.studies.data import DataFolder
from prism_mt.evaluation.studies.published import PublishedTable
from prism_mt.metrics.base import Languages, Metric
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.scores import MetricScores
from prism_mt.stats.arrays import row_means
from prism_mt.stats.correlation import Correlation
from prism_mt.stats.darr import agreement, darr_tau

Value = TypeVar("Value")
_PEARSON = Correlation("pearson")
_KEPT = 8
"""Files whose contents stay in memory."""
_KINDS = ("mqm",)
"""Human scores to prefer, if there are several."""


class Workspace:
    """Files, runtime and memory of a run; whatever `remember` has computed, the next run does not compute again."""

    def __init__(
        self,
        data: DataFolder,
        runtime: Runtime,
        model: str | None = None,
        store: Store | None = None,
        fresh: bool = False,
        rows: Mapping[str, Metric] | None = None,
        segments: int | None = None,
    ) -> None:
        self.data, self.runtime, self.model = data, runtime, model
        self.rows = rows or {}
        """Metrics that compute rows which need what is not public, by row."""
        self.segments = segments
        """Score only this many segments of each test set (default: all)."""
        self._store, self._fresh = store, fresh
        self.known = 0
        """How many results of earlier runs were reused."""
        self._written: set[bytes] = set()
        self._read: dict[object, object] = {}
        self._digests: dict[Path, str] = {}

    @property
    def model_identity(self) -> str:
        """Everything about the model that changes a number; empty without one."""
        if self.model is None:
            return ""
        config = self.runtime.config
        return f"{self.runtime.model(self.model).digest} {config.engine} {config.precision}"

    def judgments(self, file: str, pair: str, kind: str | None = None) -> Judgments:
        """Read the judgments or texts of one language pair; `kind` chooses among several human scores."""
        path = self.data.find(file)
        # A folder of mt-metrics-eval has many pairs, of which each is read alone.
        pairs = (pair,) if path.is_dir() else ()

        def read() -> dict[str, Judgments]:
            found = read_all_judgments([path], pairs=pairs, human_score=kind, prefer=_KINDS)
            return {one.pair: one for one in found}

        return self.keep((file, kind, *pairs), read)[pair]

    def scores(self, file: str) -> list[MetricScores]:
        """Read the published scores of metrics."""
        return self.keep((file, "scores"), lambda: read_scores(self.data.find(file)))

    def remember(self, what: str, files: Sequence[str], compute: Callable[[], Value]) -> Value:
        """Compute something once for all runs; `what` and the contents of the files decide what is the same.

        The value must be one that JSON can hold.
        """
        if self._store is None:
            return compute()
        key = Keys("studies", what).key(*(self._digest(file).encode() for file in files))
        known = not self._fresh or key in self._written
        found = self._store.get([key]).get(key) if known else None
        value: Value = json.loads(found) if found is not None else compute()
        if found is None:
            self._store.put([(key, json.dumps(value).encode())])
        elif key not in self._written:
            self.known += 1
        self._written.add(key)
        return value

    def opened(self, metric: Metric, pair: str) -> TextScorer:
        """Open a metric for a language pair."""
        source, _, target = pair.partition("-")
        return TextScorer(metric, metric.open(self.runtime, Languages(target, source)))

    def metrics_of(self, table: PublishedTable, known: Mapping[str, Metric]) -> dict[str, Metric]:
        """Metrics of a table's rows: those of the study, and those that the user gives."""
        return {row: metric for row, metric in {**known, **self.rows}.items() if row in table.rows}

    def shorten(self, judgments: Judgments) -> Judgments:
        """Restrict to the segments to be used; official system scores stay as they are."""
        if self.segments is None:
            return judgments
        cut = judgments.on_segments(range(min(self.segments, len(judgments.segments))))
        return replace(cut, system_scores=judgments.system_scores)

    def system_scores(
        self,
        metric: Metric,
        pair: str,
        judged: str,
        texts: str,
        *,
        means: bool = False,
        best: int | None = None,
    ) -> dict[str, float]:
        """Score whole systems from their texts.

        With `means`, a system's score is the mean of its segments, whatever the metric; with `best`, only so many
        systems are scored, those that people like best.
        """
        scorer = self.opened(metric, pair)

        def compute() -> dict[str, float]:
            human = self.judgments(judged, pair)
            chosen = human if best is None else human.top_systems(best)
            scores = score_texts(scorer, self.shorten(add_texts(chosen, self.judgments(texts, pair))))
            found = row_means(scores.segments) if means else scores.system_scores
            return dict(zip(scores.systems, found.tolist(), strict=True))

        how = f"{' means' if means else ''}{f' best {best}' if best else ''}"
        return self.remember(
            f"systems {pair} {scorer.scorer.signature()}{how}{self.part}", (judged, texts), compute
        )

    def darr(self, metric: Metric, pair: str, judged: str, texts: str) -> float:
        """Tau of a metric on official preferences, scored from the texts."""
        scorer = self.opened(metric, pair)

        def compute() -> float:
            judgments = self.shorten(add_texts(self.judgments(judged, pair), self.judgments(texts, pair)))
            pairs = judgments.preferences
            if pairs is None:
                return float("nan")
            scores = score_texts(scorer, judgments, only_judged=True).higher
            aligned = scores.align(judgments.systems, judgments.segments)
            return darr_tau(agreement(aligned, pairs.segment, pairs.better, pairs.worse))

        what = f"darr {pair} {metric.full_label} {scorer.scorer.signature()}{self.part}"
        return self.remember(what, (judged, texts), compute)

    def segment_pearson(self, metric: Metric, pair: str, judged: str) -> float:
        """Pearson of a metric with the judgments of segments, scored from the texts beside them."""
        scorer = self.opened(metric, pair)

        def compute() -> float:
            judgments = self.shorten(self.judgments(judged, pair))
            scores = score_texts(scorer, judgments, only_judged=True)
            return _PEARSON(judgments.scores, scores.align(judgments.systems, judgments.segments))

        what = f"pearson {pair} {metric.label} {scorer.scorer.signature()}{self.part}"
        return self.remember(what, (judged,), compute)

    @property
    def part(self) -> str:
        """What tells a part of the test sets from the whole in `remember`."""
        return "" if self.segments is None else f" segments {self.segments}"

    def keep(self, key: object, read: Callable[[], Value]) -> Value:
        """Read something once in this run; what was read first is forgotten first."""
        if key not in self._read:
            while len(self._read) >= _KEPT:
                del self._read[next(iter(self._read))]
            self._read[key] = read()
        return self._read[key]  # type: ignore[return-value]

    def _digest(self, file: str) -> str:
        path = self.data.find(file)
        if path not in self._digests:
            self._digests[path] = _folder_digest(path) if path.is_dir() else sha256_of(path)
        return self._digests[path]


def _folder_digest(folder: Path) -> str:
    """Tell versions of a folder apart by names, sizes and times: archives are too large to read for it."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        status = path.stat()
        digest.update(f"{path.relative_to(folder)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()
