import io
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fairseq_checkpoints import Recipe, make_checkpoint

from prism_mt._core.errors import PrismError
from prism_mt.models.fairseq import reader as fairseq
from prism_mt.models.fairseq.files import FILES, read_dictionary


def refusal(path: Path) -> str:
    with pytest.raises(PrismError) as caught:
        fairseq.read(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(("suffix", "mode"), [(".tar", "w"), (".tar.gz", "w:gz"), (".tgz", "w:gz")])
@pytest.mark.parametrize("inside", ["", "m39v1/", "./m39v1/"])
def test_tar(tmp_path: Path, suffix: str, mode: Any, inside: str) -> None:
    state = make_checkpoint(tmp_path / "files")
    path = tmp_path / f"m39v1{suffix}"
    (tmp_path / "README").write_text("not ours")
    with tarfile.open(path, mode) as tar:
        tar.add(tmp_path / "README", "../README")
        for name in reversed(FILES):
            tar.add(tmp_path / "files" / name, inside + name)
    assert fairseq.is_fairseq(path)
    model = fairseq.read(path)
    assert model.spec.name == "m39v1"
    assert model.spec.origin_digest == fairseq.digest(path) == fairseq.digest(tmp_path / "files")
    expected = state["encoder.embed_tokens.weight"].numpy()
    assert np.array_equal(model.weights["encoder.embedding.weight"], expected)


def test_errors_of_tar_files_name_the_tar(tmp_path: Path) -> None:
    make_checkpoint(tmp_path / "files", Recipe(options={"char_inputs": True}))
    path = tmp_path / "model.tar"
    with tarfile.open(path, "w") as tar:
        tar.add(tmp_path / "files", "m")
    assert refusal(path) == f"{path}/checkpoint.pt has unsupported features: the option char_inputs"
    path.write_bytes(path.read_bytes()[:5000])
    assert "damaged" in refusal(path)
    path.write_bytes(b"no tar at all")
    assert str(path) in refusal(path)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE])
def test_links_in_tar_files_are_refused(tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / "model.tar"
    with tarfile.open(path, "w") as tar:
        link = tarfile.TarInfo("m/spm.model")
        link.type, link.linkname = kind, "/etc/passwd"
        tar.addfile(link)
    assert refusal(path) == f"{path}: m/spm.model is not a regular file"


def test_two_models_in_one_tar_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.tar"
    with tarfile.open(path, "w") as tar:
        for folder in ("a", "b"):
            tar.addfile(tarfile.TarInfo(f"{folder}/spm.model"), io.BytesIO())
    assert refusal(path) == f"{path} has two files spm.model: pack one model alone"


@pytest.mark.parametrize("name", ["m/checkpoint.pt", "m/other"])
def test_archives_that_grow_without_bound_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "model.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        large = tarfile.TarInfo(name)
        large.size = 100_000_000
        with open("/dev/zero", "rb") as zeros:
            tar.addfile(large, zeros)
    assert path.stat().st_size < 300_000
    assert refusal(path) == f"{path} would be far larger when unpacked: it is not a model"


def test_absurd_header(tmp_path: Path) -> None:
    path = tmp_path / "model.tar"
    header = bytearray(tarfile.TarInfo("m/spm.model").tobuf())
    header[124:136] = b"\xff" * 12  # a size below zero
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    path.write_bytes(bytes(header) + bytes(20_000))
    assert str(path) in refusal(path)


@pytest.mark.parametrize("name", FILES)
def test_missing_file(tmp_path: Path, name: str) -> None:
    make_checkpoint(tmp_path)
    (tmp_path / name).unlink()
    assert fairseq.is_fairseq(tmp_path)
    assert refusal(tmp_path) == f"the model {tmp_path} lacks {name}"


@pytest.mark.parametrize("content", [b"", b"not a model"])
def test_damaged_sentencepiece_model(tmp_path: Path, content: bytes) -> None:
    make_checkpoint(tmp_path)
    (tmp_path / "spm.model").write_bytes(content)
    assert refusal(tmp_path) == f"{tmp_path / 'spm.model'} is damaged: it is not a SentencePiece model"


def test_dictionary(tmp_path: Path) -> None:
    path = tmp_path / "dict.txt"
    path.write_text("▁a 12\n\u3000 3\r\nb 0\n<unk> 7 #fairseq:overwrite\n1 2\n", encoding="utf-8")
    assert read_dictionary(path) == (
        *("<s>", "<pad>", "</s>", "<unk> (overwritten)"),
        *("▁a", "\u3000", "b", "<unk>", "1"),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 1\nb\n", "line 2: expected a piece, a space and a count, got 'b'"),
        ("a 1\n\nb 1\n", "line 2: expected"),
        ("a 1\nb x\n", "line 2: expected"),
        ("a -1\n", "line 1: expected"),
        (" 1\n", "line 1: expected"),
        ("a 1\nb 1\na 2\n", "line 3: 'a' is a duplicate"),
        ("<pad> 1\n", "line 1: '<pad>' is a duplicate"),
    ],
)
def test_malformed_dictionary(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "dict.src.txt"
    path.write_text(text)
    with pytest.raises(PrismError) as caught:
        read_dictionary(path)
    assert f"{path}, {message}" in str(caught.value)


def test_undecodable_dictionary(tmp_path: Path) -> None:
    path = tmp_path / "dict.src.txt"
    path.write_bytes(b"abc 1\n\xff 1\n")
    with pytest.raises(PrismError, match="undecodable byte at offset 6"):
        read_dictionary(path)


def test_is_fairseq(tmp_path: Path) -> None:
    (tmp_path / "spm.model").write_bytes(b"")
    (tmp_path / "config.json").write_text("{}")
    assert not fairseq.is_fairseq(tmp_path)
    assert not fairseq.is_fairseq(tmp_path / "config.json")
    assert not fairseq.is_fairseq(tmp_path / "nothing.tar")


@pytest.mark.parametrize("legacy", [True, False])
def test_incomplete_download(tmp_path: Path, legacy: bool) -> None:
    make_checkpoint(tmp_path, Recipe(legacy=legacy))
    path = tmp_path / "checkpoint.pt"
    path.write_bytes(path.read_bytes()[:-2000])
    assert refusal(tmp_path).startswith(f"{path} is damaged or was not downloaded completely")
