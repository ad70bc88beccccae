"""Public data: the catalog, and downloads from a real server that resume and are checked."""

import hashlib
import http.server
import io
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.studies.data import (
    Archive,
    DataFile,
    DataFolder,
    catalog,
    default_data_folder,
    fetch_archive,
    fetch_file,
)

TEXT = b"lp\tsystem\tda_z\nen-de\tA\t0.5\n"
FILE = DataFile("made.tsv", "made", len(TEXT), hashlib.sha256(TEXT).hexdigest(), [])


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    served = tmp_path / "served"
    served.mkdir()
    (served / "made.tsv").write_bytes(TEXT)
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(served))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_catalog() -> None:
    files = catalog().files
    assert len({file.name for file in files}) == len({file.sha256 for file in files}) == len(files) == 27
    for file in files:
        assert file.sources
        assert bool(file.instead) == (catalog().archive_of(file) is not None)
    assert all(archive.sha256 or archive.commit for archive in catalog().archives)


def test_a_file_is_checked_by_its_digest(tmp_path: Path, address: str) -> None:
    folder = tmp_path / "data"
    assert fetch_file(FILE, folder, address + "/").read_bytes() == TEXT
    (tmp_path / "served" / "made.tsv").write_bytes(TEXT + b"more")
    (folder / "made.tsv").unlink()
    with pytest.raises(PrismError, match="made.tsv is not the file of the catalog"):
        fetch_file(FILE, folder, address)
    assert not (folder / "made.tsv").exists()
    with pytest.raises(PrismError, match=r"cannot download .*/made.tsv: .*404"):
        (tmp_path / "served" / "made.tsv").unlink()
        fetch_file(FILE, folder, address)


def packed(path: Path, commit: str, *names: str) -> None:
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT, pax_headers={"comment": commit}) as tar:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = len(TEXT)
            tar.addfile(info, io.BytesIO(TEXT))


def test_an_archive_is_identified_by_its_commit_and_unpacked(tmp_path: Path, address: str) -> None:
    packed(tmp_path / "served" / "pack.tgz", "c0ffee", "repo-c0ffee/scores/one.tsv")
    archive = Archive("repo", "made", f"{address}/pack.tgz", commit="c0ffee")
    folder = tmp_path / "data"
    assert fetch_archive(archive, folder) == folder / "repo"
    assert (folder / "repo" / "scores" / "one.tsv").read_bytes() == TEXT
    assert [path.name for path in folder.iterdir()] == ["repo"]
    other = Archive("other", "made", f"{address}/pack.tgz", commit="decaf")
    with pytest.raises(PrismError, match="is not of commit decaf, but of c0ffee"):
        fetch_archive(other, folder)
    wrong = Archive("other", "made", f"{address}/pack.tgz", sha256="0" * 64)
    with pytest.raises(PrismError, match="is not the archive of the catalog"):
        fetch_archive(wrong, folder)
    assert [path.name for path in folder.iterdir()] == ["repo"]


def test_archives_stay_in_their_folder_and_damage_is_a_sentence(tmp_path: Path, address: str) -> None:
    packed(tmp_path / "served" / "evil.tgz", "c0ffee", "../../escaped.tsv")
    archive = Archive("evil", "made", f"{address}/evil.tgz", commit="c0ffee")
    with pytest.raises(PrismError, match="is damaged"):
        fetch_archive(archive, tmp_path / "data")
    assert not (tmp_path / "escaped.tsv").exists()
    (tmp_path / "served" / "evil.tgz").write_bytes(b"no archive")
    with pytest.raises(PrismError, match=r"evil.tgz is damaged .*: the same command fetches it again"):
        fetch_archive(archive, tmp_path / "data")


def test_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = DataFolder(tmp_path)
    name = "prismft_predictions_wmt21.news_en-de.json.xz"
    assert folder.state(name) == "missing"
    (tmp_path / catalog().file(name).instead).mkdir(parents=True)
    assert folder.state(name) == "instead"
    (tmp_path / name).write_bytes(b"other")
    assert folder.state(name) == "changed"
    with pytest.raises(PrismError, match="wmt17_da_sys.tsv.xz is not in"):
        folder.find("wmt17_da_sys.tsv.xz")
    monkeypatch.setenv("PRISM_DATA", str(tmp_path))
    assert default_data_folder() == tmp_path
