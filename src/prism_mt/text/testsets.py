"""Sources and references of public test sets, through sacreBLEU: `sacrebleu:wmt19:de-en`."""

from pathlib import Path
from typing import Any, Literal, NamedTuple

from prism_mt._core.errors import PrismError
from prism_mt.text.lines import Lines, open_lines

PREFIX = "sacrebleu:"


class Side(NamedTuple):
    """One side of a test set. `language` is that of the translations to be scored, also when `lines` are sources."""

    lines: list[Lines]
    language: str
    source_language: str


def is_testset(spec: str | Path) -> bool:
    """Whether a text is named by a test set and not by a file."""
    return str(spec).startswith(PREFIX)


def open_testset(spec: str, side: Literal["src", "ref"], offline: bool = False) -> Side:
    """The source, or all references, of `sacrebleu:SET:PAIR`; downloaded by sacreBLEU when first used."""
    name, pair = _parse(spec)
    dataset = _dataset(name, pair)
    if offline and not _folder(name).exists():
        raise PrismError(f"{spec} is not on this machine, and --offline forbids to get it")
    try:
        files = dataset.get_reference_files(pair) if side == "ref" else [dataset.get_source_file(pair)]
    # sacreBLEU raises plain exceptions, whatever its network and archive libraries raise, and ends the process
    # when a checksum is wrong.
    except (Exception, SystemExit) as error:
        reason = "its download is damaged" if isinstance(error, SystemExit) else error
        raise PrismError(
            f"cannot get {spec} ({reason}): the first use needs a network,"
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
    """Name and language pair of a test set."""
    parts = spec.removeprefix(PREFIX).split(":")
    if not is_testset(spec) or len(parts) != 2 or not all(parts):
        raise PrismError(f"{spec!r} does not name a test set: write {PREFIX}SET:PAIR, such as {PREFIX}wmt19:de-en")
    return parts[0], parts[1]


def _dataset(name: str, pair: str) -> Any:
    """sacreBLEU's object for a test set that exists in this pair of languages."""
    from sacrebleu.dataset import DATASETS

    if name not in DATASETS:
        raise PrismError(f"sacreBLEU has no test set {name!r}; it has {', '.join(sorted(DATASETS))}")
    dataset = DATASETS[name]
    if pair not in dataset.langpairs:
        raise PrismError(f"test set {name} has no pair {pair!r}; it has {', '.join(sorted(dataset.langpairs))}")
    return dataset


def _folder(name: str) -> Path:
    """Where sacreBLEU keeps a test set."""
    from sacrebleu.utils import SACREBLEU_DIR

    return Path(SACREBLEU_DIR) / name
