"""`prism data`: public data of the studies, where it comes from, and how to get it."""

from dataclasses import dataclass

from prism_mt._core.arguments import Command, Group
from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option, suggestion
from prism_mt.cli.output import TableOptions, write_tables
from prism_mt.cli.reproduce import DataOptions
from prism_mt.evaluation.studies.data import (
    Archive,
    DataFile,
    catalog,
    fetch_archive,
    fetch_file,
    missing_file,
)
from prism_mt.evaluation.studies.registry import find_studies
from prism_mt.report.table import Column, Table, number
from prism_mt.text.testsets import is_testset, open_testset


@dataclass(frozen=True, kw_only=True)
class ShowOptions(Config):
    """Options of `prism data list`."""

    studies: list[str] = option("only what these studies or papers need", [], positional=True, metavar="STUDY")


@dataclass(frozen=True, kw_only=True)
class GetOptions(Config):
    """Options of `prism data get`."""

    names: list[str] = option(
        "files and archives of `prism data list`, studies or papers, or test sets as sacrebleu:SET:PAIR",
        positional=True,
        metavar="NAME",
    )
    mirror: str | None = option(
        "address under which a mirror has the files by name", None, flags=("--from",), metavar="URL"
    )
    offline: bool = option("never use the network: say what is missing", False)


def run_list(options: ShowOptions, data: DataOptions, output: TableOptions) -> None:
    """Print the files with their sources and whether they are in the folder, then the archives."""
    names = _needed(options.studies or ["all"])
    files = [file for file in catalog().files if file.name in names]
    columns = tuple(Column(title) for title in ("file", "what", "state", "instead", "sources"))
    rows = tuple(
        (file.name, file.what, data.folder.state(file.name), file.instead, ", ".join(file.sources))
        for file in files
    )
    table = Table(columns, rows, f"Data in {data.folder.path}")
    used = {archive.name for file in files if (archive := catalog().archive_of(file))}
    archives = Table(
        (
            Column("archive"),
            Column("what"),
            number("bytes", 0),
            Column("address"),
            Column("identified by", key="digest"),
        ),
        tuple(
            (
                one.name,
                one.what,
                one.size or None,
                one.url,
                f"sha256 {one.sha256}" if one.sha256 else f"commit {one.commit}",
            )
            for one in catalog().archives
            if one.name in used
        ),
        "Archives that can be used instead",
    )
    write_tables([table, archives] if used else [table], output)


def run_get(options: GetOptions, data: DataOptions) -> None:
    """Fetch what is missing, and check that it is what the catalog says."""
    folder = data.folder
    for name in options.names:
        if is_testset(name):
            open_testset(name, "src", options.offline)
            print(f"{name}: there")
            continue
        for item in _items(name):
            if isinstance(item, Archive):
                there = (folder.path / item.name).exists()
                if not there and options.offline:
                    raise PrismError(f"`offline=`: not fetching {item.name} from {item.url}")
                print(f"{item.name}: {'there' if there else fetch_archive(item, folder.path)}")
            else:
                _get_file(item, options, data)


def _get_file(file: DataFile, options: GetOptions, data: DataOptions) -> None:
    folder = data.folder
    state = folder.state(file.name)
    if state == "changed":
        raise PrismError(f"{folder.find(file.name)} is not the file of the catalog: remove it and get it again")
    if state != "missing":
        print(f"{file.name}: there")
        return
    archive = catalog().archive_of(file)
    if options.offline or (options.mirror is None and archive is None):
        raise PrismError(
            ("`offline=`: not fetching; " if options.offline else "") + missing_file(file.name, folder.path)
        )
    if options.mirror is not None:
        print(f"{file.name}: {fetch_file(file, folder.path, options.mirror)}")
    elif archive is not None:
        print(f"{file.name}: {fetch_archive(archive, folder.path)} serves instead")


def _items(name: str) -> list[DataFile | Archive]:
    """Resolve a name: a file, an archive, or all files of a study or paper."""
    known: dict[str, DataFile | Archive] = {}
    known.update((file.name, file) for file in catalog().files)
    known.update((archive.name, archive) for archive in catalog().archives)
    if name in known:
        return [known[name]]
    try:
        needed = _needed([name])
    except PrismError as error:
        raise PrismError(f"no data, study or paper is called {name!r}{suggestion(name, known)}") from error
    return [file for file in catalog().files if file.name in needed]


def _needed(studies: list[str]) -> set[str]:
    return {file for study in find_studies(studies) for file in study.files}


_GET_EPILOG = """examples:
  prism data get vamvas2023/table2 --data DIR
  prism data get wmt19_da_sys.tsv.xz --from https://mirror.example/judgments --data DIR
  prism data get sacrebleu:wmt19:de-en

An interrupted download resumes where it stopped, and is checked before it is used."""

COMMAND = Group(
    name="data",
    help="public data of the papers' studies: what they need, where it comes from, and how to get it",
    commands=(
        Command(
            "list",
            "list files, their sources, and which are present",
            (ShowOptions, DataOptions, TableOptions),
            run_list,
        ),
        Command(
            "get",
            "fetch files and archives, resuming and checking downloads",
            (GetOptions, DataOptions),
            run_get,
            _GET_EPILOG,
        ),
    ),
)
