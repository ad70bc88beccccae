"""Readers of challenge sets: DEMETR's JSON, ACES' TSV, and multi-parallel texts to perturb."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.challenge import Contrast
from prism_mt.evaluation.readers.fields import json_records, records, stem, text_of
from prism_mt.text.languages import find_language
from prism_mt.text.lines import open_lines
from prism_mt.text.parallel import Languages

BUILTIN = Path(__file__).parents[2] / "assets" / "challenge" / "sentences.jsonl.xz"
"""News and travel sentences in 39 languages that `builtin` perturbs."""


@dataclass(frozen=True)
class _Layout:
    """The keys of a layout of contrasts."""

    name: str
    good: str
    bad: str
    reference: str
    source: str
    phenomenon: str
    languages: Callable[[Mapping[str, Any], str], Languages]


def read_contrasts(paths: Sequence[str | Path]) -> list[Contrast]:
    """Read the contrasts of files in the layout of DEMETR (JSON) or ACES (TSV)."""
    found: list[Contrast] = []
    for path in map(Path, paths):
        here = _read_json(path) if stem(path).endswith((".json", ".jsonl")) else _read_tsv(path)
        if not here:
            raise PrismError(f"{path} has no contrasts")
        found += here
    return found


def read_texts(path: str | Path, languages: Sequence[str] = ()) -> dict[str, list[str]]:
    """Read multi-parallel text: a JSON object with a text per language code on each line.

    Of plain text, `languages` names the language.
    """
    path = Path(path)
    if not stem(path).endswith((".jsonl", ".json")):
        if len(languages) != 1:
            raise PrismError(f"{path} is plain text: name its one language")
        return {languages[0]: list(open_lines(path))}
    texts: dict[str, list[str]] = {}
    number = 0
    for where, record in json_records(path):
        for key, value in record.items():
            if key.startswith("_"):
                continue
            own = texts.setdefault(key, [])
            if len(own) != number:
                raise PrismError(f"{where} has a text in {key}, which an earlier line lacks")
            own.append(text_of(value, where) or "")
        number += 1
        if lacking := [key for key, own in texts.items() if len(own) != number]:
            raise PrismError(f"{where} has no text in {lacking[0]}, which an earlier line has")
    if not texts:
        raise PrismError(f"{path} is empty")
    return texts


def _read_json(path: Path) -> list[Contrast]:
    """Read a list of objects, or one on each line; those that say that their perturbation failed are left out."""
    if stem(path).endswith(".jsonl"):
        return [_contrast(one, _DEMETR, where) for where, one in json_records(path) if one.get("pert_check", True)]
    text = "\n".join(open_lines(path))
    try:
        items = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PrismError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(items, list):
        raise PrismError(f"{path}: expected a list of objects with mt_sent and pert_sent, as DEMETR has them")
    found = []
    for number, item in enumerate(items, start=1):
        where = f"{path}, item {number}"
        if not isinstance(item, dict):
            raise PrismError(f"{where}: expected an object with mt_sent and pert_sent, as DEMETR has them")
        if item.get("pert_check", True):
            found.append(_contrast(item, _DEMETR, where))
    return found


def _read_tsv(path: Path) -> list[Contrast]:
    return [_contrast(row, _ACES, where) for where, row in records(path)]


def _contrast(item: Mapping[str, Any], layout: _Layout, where: str) -> Contrast:
    for key in (layout.good, layout.bad, layout.phenomenon):
        if key not in item:
            raise PrismError(f"{where}: no {key}, which the layout of {layout.name} has")
    good, bad = text_of(item[layout.good], where) or "", text_of(item[layout.bad], where) or ""
    return Contrast(
        str(item[layout.phenomenon]),
        good,
        bad,
        layout.languages(item, where),
        text_of(item.get(layout.reference), where) or None,
        text_of(item.get(layout.source), where) or None,
    )


def _demetr_languages(item: Mapping[str, Any], where: str) -> Languages:
    """DEMETR writes English names such as `chinese_simple`, and translates into English."""
    name = re.split("[_-]", str(item.get("lang_tag", "")))[0]
    found = find_language(name)
    if found is None:
        raise PrismError(f"{where}: lang_tag {item.get('lang_tag')!r:.40} is not a language")
    return Languages("en", found.code)


def _aces_languages(item: Mapping[str, Any], where: str) -> Languages:
    pair = str(item.get("langpair", ""))
    source, dash, target = pair.partition("-")
    if not dash or find_language(source) is None or find_language(target) is None:
        raise PrismError(f"{where}: langpair {pair!r:.40} is not a language pair such as de-en")
    return Languages(target, source)


_DEMETR = _Layout("DEMETR", "mt_sent", "pert_sent", "eng_sent", "src_sent", "pert_name", _demetr_languages)
_ACES = _Layout(
    "ACES", "good-translation", "incorrect-translation", "reference", "source", "phenomena", _aces_languages
)
