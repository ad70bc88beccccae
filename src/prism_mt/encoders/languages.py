"""Which languages an encoder supports, if its folder says so."""

from collections.abc import Iterable
from pathlib import Path

from prism_mt._core.errors import PrismError
from prism_mt.text.languages import language


def card_languages(folder: Path) -> frozenset[str] | None:
    """The languages that the model card (README.md) lists; None if it lists none or says `multilingual`."""
    import yaml  # type: ignore[import-untyped]

    path = folder / "README.md"
    try:
        parts = path.read_text("utf-8", errors="replace").split("---\n", 2)
    except OSError:
        return None
    if len(parts) < 3 or parts[0].strip():
        return None
    try:
        # The loader that reads `no`, which is Norwegian, as a string.
        head = yaml.load(parts[1], Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError):
        return None
    found = head.get("language") if isinstance(head, dict) else None
    codes = [found] if isinstance(found, str) else found if isinstance(found, list) else []
    known = {_code(code) for code in codes if isinstance(code, str)}
    return None if not known or "multilingual" in known else frozenset(known)


def check_languages(encoder: str, known: frozenset[str] | None, wanted: Iterable[str]) -> None:
    """Fail on a language that the encoder does not support; empty names are unknown languages."""
    for name in wanted:
        if name and known is not None and _code(name) not in known:
            raise PrismError(
                f"the encoder {encoder} does not support {name}; it supports {', '.join(sorted(known))}"
            )


def check_source(encoder: str, known: frozenset[str] | None, source_language: str) -> None:
    """Fail unless the encoder supports the source language, too: a source is compared with an output."""
    if known is not None and len(known) == 1 and not source_language:
        raise PrismError(
            f"the encoder {encoder} only supports {', '.join(known)}: choose a multilingual one to compare with sources"
        )
    check_languages(encoder, known, (source_language,))


def _code(name: str) -> str:
    try:
        return language(name).code
    except PrismError:
        return name
