"""Input texts of a command: systems, references and source, from files, a table, or a test set."""

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option
from prism_mt.text.lines import Lines, open_fields, open_jsonl, open_lines
from prism_mt.text.parallel import Languages, ParallelText, resolve_languages
from prism_mt.text.testsets import is_testset, open_testset

_ROLES = ("src", "ref", "cand")
_GROUP = "group"
_DOCUMENT = "document"


@dataclass(frozen=True)
class InputOptions(Config):
    """Input options of every command that compares outputs with references or sources."""

    cand: list[str] = option(
        "outputs, one file per system, FILE or NAME=FILE (default: standard input); .gz and .xz are decompressed",
        [],
        metavar="FILE",
    )
    ref: list[str] = option("references, one file each, or sacrebleu:SET:PAIR", [], metavar="FILE")
    src: str | None = option("source file, or sacrebleu:SET:PAIR", None, metavar="FILE")
    documents: str | None = option(
        "file with the name of every segment's document, for document scores and --context", None, metavar="FILE"
    )
    input: str | None = option(
        "one table instead of separate files: TSV, or JSONL according to its suffix",
        None,
        flags=("-i",),
        metavar="FILE",
    )
    fields: list[str] = option(
        "columns of the table, such as: src ref cand; a field may repeat, cand=NAME names a system, group or "
        "group=NAME is a document or domain (prism compare), document names the document (--context), "
        "in JSONL ROLE=KEY names the key, - skips a column",
        [],
        metavar="FIELD",
    )
    input_format: Literal["auto", "tsv", "jsonl"] = option(
        "format of the table; auto: according to the suffix", "auto"
    )
    lang: str | None = option(
        "language of the outputs: code or name, or auto to detect it", None, flags=("-l",), metavar="XX"
    )
    src_lang: str | None = option("language of the source, if the model needs it", None, metavar="XX")
    language_check: bool = option("warn about outputs that appear to be in another language", True)


@dataclass(frozen=True)
class Inputs:
    """Opened texts and their languages."""

    text: ParallelText
    languages: Languages
    groups: tuple[tuple[str, Lines], ...] = ()
    """Columns with the document or domain of every segment, by name."""


def open_inputs(options: InputOptions, offline: bool = False) -> Inputs:
    """Open and count everything before any model is loaded."""
    if options.input or options.fields:
        columns = _open_table(options)
        found = (options.lang, options.src_lang)
    else:
        columns, found = _open_files(options, offline)
    if options.documents:
        columns.append((_DOCUMENT, _DOCUMENT, open_lines(options.documents)))
    text = _arrange(columns)
    text.count()
    languages = resolve_languages(text, Languages(found[0] or "", found[1] or ""))
    groups = tuple((name, lines) for role, name, lines in columns if role == _GROUP)
    return Inputs(text, languages, groups)


def _open_files(
    options: InputOptions, offline: bool
) -> tuple[list[tuple[str, str, Lines]], tuple[str | None, str | None]]:
    """(role, name, lines) for every file; a test set also determines the languages."""
    columns = [("cand", *_system(spec)) for spec in options.cand or ["-"]]
    languages = (options.lang, options.src_lang)
    for role, spec in [*(("ref", spec) for spec in options.ref), *([("src", options.src)] if options.src else [])]:
        if is_testset(spec):
            side = open_testset(spec, "ref" if role == "ref" else "src", offline)
            columns += [(role, role, lines) for lines in side.lines]
            languages = (languages[0] or side.language, languages[1] or side.source_language)
        else:
            columns.append((role, role, open_lines(spec)))
    return columns, languages


def _system(spec: str) -> tuple[str, Lines]:
    """Parse NAME=FILE or FILE, whose name is then the system's."""
    name, separator, path = spec.partition("=")
    if separator and name and not Path(spec).exists():
        return name, open_lines(path)
    # A file's name may be any bytes; those that are not UTF-8 cannot be written into a report.
    named = "stdin" if spec == "-" else os.fsencode(Path(spec).name).decode("utf-8", "replace")
    return named, open_lines(spec)


def _open_table(options: InputOptions) -> list[tuple[str, str, Lines]]:
    """(role, name, lines) for every column of a TSV or JSONL file."""
    if options.ref or options.src or (options.input and options.cand) or len(options.cand) > 1:
        raise PrismError("--input and --fields replace --cand, --ref and --src: use one or the other")
    path = options.input or (options.cand[0] if options.cand else "-")
    suffixes = [suffix for suffix in Path(path).suffixes if suffix not in (".gz", ".xz")]
    jsonl = options.input_format == "jsonl" or (
        options.input_format == "auto" and suffixes[-1:] in ([".jsonl"], [".ndjson"])
    )
    fields = [_field(word) for word in options.fields or (_keys(path) if jsonl and Path(path).is_file() else ())]
    if not fields:
        raise PrismError("name the columns of the table, such as: --fields src ref cand")
    if jsonl:
        opened = open_jsonl(path, [name for _, name in fields])
        roles = {name: role for role, name in fields}
        return [(roles[key], key, lines) for key, lines in opened]
    opened = open_fields(path, [role if role == "-" else name for role, name in fields])
    return [
        (role, name, lines)
        for (role, name), (_, lines) in zip([f for f in fields if f[0] != "-"], opened, strict=True)
    ]


def _keys(path: str) -> list[str]:
    """The input roles that the first object of a JSONL file has as keys."""
    first = next(iter(open_lines(path)), "")
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise PrismError(f"{path}, line 1 is not a JSON object")
    return [role for role in _ROLES if role in record]


def _field(word: str) -> tuple[str, str]:
    role, separator, name = word.partition("=")
    if word == "-":
        return "-", "-"
    if role not in (*_ROLES, _GROUP, _DOCUMENT) or (separator and not name):
        raise PrismError(
            f"{word!r} is not a field: use src, ref, cand, cand=NAME, group, document, or - to skip a column"
        )
    return role, name or role


def _arrange(columns: Sequence[tuple[str, str, Lines]]) -> ParallelText:
    """Sort columns by role and give every system a unique name."""
    systems = [(name, lines) for role, name, lines in columns if role == "cand"]
    if not systems:
        raise PrismError("no output to score: set --cand, or a field cand")
    sources = [lines for role, _, lines in columns if role == "src"]
    if len(sources) > 1:
        raise PrismError("there can be only one source")
    counts = Counter(name for name, _ in systems)
    named = [
        (name if counts[name] == 1 else f"{name}#{index}" if lines.name == name else lines.name, lines)
        for index, (name, lines) in enumerate(systems, start=1)
    ]
    repeated = Counter(name for name, _ in named)
    named = [
        (name if repeated[name] == 1 else f"{name}#{index}", lines)
        for index, (name, lines) in enumerate(named, start=1)
    ]
    references = tuple(lines for role, _, lines in columns if role == "ref")
    documents = [lines for role, _, lines in columns if role == _DOCUMENT]
    if len(documents) > 1:
        raise PrismError("there can be only one column of documents")
    return ParallelText(
        tuple(named), references, sources[0] if sources else None, documents[0] if documents else None
    )
