"""Sources and references of public test sets, through sacreBLEU: `sacrebleu:wmt19:de-en`."""

from pathlib import Path
from typing import Any, Literal, NamedTuple

from prism_mt._core.errors import PrismError
from prism_mt.text.lines import Lines, open_lines

PREFIX = "sacrebleu:"


class Side(NamedTuple):
    """One side of a test set. `language` is that of the translations to be scored, even if `lines` are sources."""

    lines: list[Lines]
    language: str
    source_language: str


def is_testset(spec: str | Path) -> bool:
    """Whether a name refers to a test set rather than a file."""
    return str(spec).startswith(PREFIX)


def open_testset(spec: str, side: Literal["src", "ref"], offline: bool = False) -> Side:
    """Open the source or all references of `sacrebleu:SET:PAIR`; sacreBLEU downloads the set on first use."""
    name, pair = _parse(spec)
    dataset = _dataset(name, pair)
    if offline and not _is_complete(dataset, name, pair):
        raise PrismError(f"`offline=`: not fetching {spec}, which is not on this machine")
    try:
        files = dataset.get_reference_files(pair) if side == "ref" else [dataset.get_source_file(pair)]
    # sacreBLEU raises plain exceptions and whatever its network and archive libraries raise, and exits the process
    # if a checksum is wrong.
    except (Exception, SystemExit) as error:
        reason = "its download is damaged" if isinstance(error, SystemExit) else error
        raise PrismError(
            f"cannot fetch {spec} ({reason}): the first use needs a network connection,"
            f" later ones read it from {_folder(name)}, which can be deleted to start again"
        ) from error
    if not files:
        raise PrismError(f"{spec} has no reference")
    source, target = pair.split("-")
    labels = [
        f"{spec} ({side} {index})" if len(files) > 1 else f"{spec} ({side})" for index in range(1, len(files) + 1)
    ]
    return Side([open_lines(file, label) for file, label in zip(files, labels, strict=True)], target, source)


def _parse(spec: str) -> tuple[str, str]:
    """Split a test set specification into set name and language pair."""
    parts = spec.removeprefix(PREFIX).split(":")
    if not is_testset(spec) or len(parts) != 2 or not all(parts):
        raise PrismError(f"{spec!r} is not a test set: write {PREFIX}SET:PAIR, such as {PREFIX}wmt19:de-en")
    return parts[0], parts[1]


def _dataset(name: str, pair: str) -> Any:
    """Return sacreBLEU's object for a test set, after checking that it covers the language pair."""
    from sacrebleu.dataset import DATASETS

    if name not in DATASETS:
        raise PrismError(f"sacreBLEU has no test set {name!r}; it has {', '.join(sorted(DATASETS))}")
    dataset = DATASETS[name]
    if pair not in dataset.langpairs:
        raise PrismError(f"test set {name} has no pair {pair!r}; it has {', '.join(sorted(dataset.langpairs))}")
    return dataset


def _is_complete(dataset: Any, name: str, pair: str) -> bool:
    """Whether all files of a pair are here; sacreBLEU would fetch the whole set for one that is missing."""
    stem = f"{name.replace('/', '_')}.{pair}"
    return all(
        (_folder(name) / f"{stem}.{field.replace(':', '-')}").exists() for field in dataset.fieldnames(pair)
    )


def _folder(name: str) -> Path:
    """The directory where sacreBLEU keeps a test set."""
    from sacrebleu.utils import SACREBLEU_DIR

    return Path(SACREBLEU_DIR) / name
