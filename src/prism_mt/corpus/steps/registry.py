"""Registry of step kinds."""

from collections.abc import Mapping
from typing import Any

from prism_mt._core.errors import PrismError
from prism_mt._core.options import from_table
from prism_mt.corpus.steps.base import Context, Step
from prism_mt.corpus.steps.cap import Cap
from prism_mt.corpus.steps.copies import CopyFilter
from prism_mt.corpus.steps.decontaminate import Decontaminate
from prism_mt.corpus.steps.deduplicate import Deduplicate
from prism_mt.corpus.steps.language import LanguageFilter
from prism_mt.corpus.steps.length import Length
from prism_mt.corpus.steps.margin import Margin, MarginColumn
from prism_mt.corpus.steps.minimum import Minimum
from prism_mt.corpus.steps.near import NearDuplicates
from prism_mt.corpus.steps.normalize import Normalize
from prism_mt.corpus.steps.sample import Sample
from prism_mt.corpus.steps.script import ScriptFilter
from prism_mt.corpus.steps.share import Share

KINDS: dict[str, type[Step]] = {
    step.kind: step
    for step in (
        Share,
        Normalize,
        Length,
        ScriptFilter,
        LanguageFilter,
        CopyFilter,
        Margin,
        MarginColumn,
        Deduplicate,
        NearDuplicates,
        Decontaminate,
        Minimum,
        Cap,
        Sample,
    )
}


def build_step(table: Mapping[str, Any], context: Context, where: str) -> Step:
    """Build the step that a `[[step]]` table describes."""
    kind = table.get("kind")
    if kind not in KINDS:
        raise PrismError(f"{where}: unknown kind of step {kind!r}; known: {', '.join(KINDS)}")
    settings = {key: value for key, value in table.items() if key != "kind"}
    step = KINDS[kind]
    return step(from_table(settings, step.Config, f"{where} ({kind})"), context)
