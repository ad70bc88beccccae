"""System families: lines of SYSTEM and FAMILY, tab-separated."""

from pathlib import Path

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.readers.fields import numbered_lines


def read_families(path: Path) -> dict[str, str]:
    """Read the family of every system in the file; systems of one family are related."""
    found: dict[str, str] = {}
    for where, line in numbered_lines(path):
        values = line.split("\t")
        if len(values) != 2 or not all(value.strip() for value in values):
            raise PrismError(f"{where}: expected a system and its family, separated by a tab")
        system, family = (value.strip() for value in values)
        if found.setdefault(system, family) != family:
            raise PrismError(f"{where}: {system} is in two families, {found[system]} and {family}")
    return found
