import dataclasses
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from made import make_model

from prism_mt._core.errors import PrismError
from prism_mt.models import directory
from prism_mt.models.directory import ModelDirectory, is_model_directory, write_model
from prism_mt.models.model import Model


@pytest.fixture(scope="module")
def model() -> Model:
    return make_model()


@pytest.fixture
def folder(model: Model, tmp_path: Path) -> Path:
    return write_model(model, tmp_path / "model").folder


def test_what_is_written_is_read(model: Model, folder: Path) -> None:
    read = ModelDirectory(folder).load()
    assert read.spec == model.spec
    assert read.source is read.target
    assert read.source.encode("Hello world!") == model.source.encode("Hello world!")
    for name, weight in model.weights.items():
        np.testing.assert_array_equal(read.weights[name], weight)


def test_separate_vocabularies(tmp_path: Path) -> None:
    from dataclasses import replace

    model = make_model(tied_embeddings=False)
    pieces = tuple(model.source.piece(index) for index in reversed(range(len(model.source))))
    separate = replace(model, target=replace(model.source, pieces=pieces))
    read = ModelDirectory(write_model(separate, tmp_path / "model").folder)
    assert read.source.pieces is None
    assert read.target.pieces == pieces
    assert read.target.encode("Hello") == [pieces.index(piece) for piece in ["▁He", "ll", "o"]]


def test_half_precision_halves_the_file(model: Model, tmp_path: Path) -> None:
    full = write_model(model, tmp_path / "full").folder / "model.safetensors"
    half = write_model(model, tmp_path / "half", "float16")
    assert (half.folder / "model.safetensors").stat().st_size < 0.6 * full.stat().st_size
    assert half.weights()["encoder.embedding.weight"].dtype == np.float32


def test_digest_is_of_content_not_of_name_or_card(model: Model, tmp_path: Path) -> None:
    from dataclasses import replace

    first = write_model(model, tmp_path / "a")
    renamed = replace(model, spec=replace(model.spec, name="other"), card="# Other")
    assert write_model(renamed, tmp_path / "b").digest == first.digest
    assert write_model(make_model(seed=1), tmp_path / "c").digest != first.digest


def test_a_folder_with_other_things_is_not_overwritten(model: Model, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "letter.txt").write_text("dear")
    with pytest.raises(PrismError, match="is not a model directory"):
        write_model(model, tmp_path / "notes")
    assert (tmp_path / "notes" / "letter.txt").read_text() == "dear"


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("name", ["model.safetensors", "spm.model"])
def test_missing_cut_and_damaged_files(folder: Path, name: str) -> None:
    flip(folder / name)
    with pytest.raises(PrismError, match=rf"{name} is damaged: its SHA-256"):
        ModelDirectory(folder).load()
    cut(folder / name)
    with pytest.raises(PrismError, match=rf"{name} is damaged: [\d,]+ bytes instead of [\d,]+"):
        ModelDirectory(folder)
    (folder / name).unlink()
    with pytest.raises(PrismError, match=f"lacks its file {name}"):
        ModelDirectory(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "not the configuration of a Prism model"),
        ('{"model_type": "m2m_100"}', "not the configuration of a Prism model"),
        ('{"prism_format": 99}', "reads format 1"),
        ('{"prism_format": 1, "surprise": 1}', "unknown key surprise"),
    ],
)
def test_bad_config(folder: Path, text: str, message: str) -> None:
    (folder / "config.json").write_text(text)
    with pytest.raises(PrismError, match=message):
        ModelDirectory(folder)
    assert is_model_directory(folder) == ("prism_format" in text)


def test_a_config_changed_by_hand_is_noticed(folder: Path) -> None:
    path = folder / "config.json"
    table = json.loads(path.read_text())
    table["spec"]["architecture"]["norm"] = "post"
    path.write_text(json.dumps(table))
    with pytest.raises(PrismError, match="does not match its digest"):
        ModelDirectory(folder)


def test_a_file_name_cannot_leave_the_folder(folder: Path) -> None:
    path = folder / "config.json"
    table = json.loads(path.read_text())
    table["files"]["../evil"] = {"size": 1, "sha256": ""}
    path.write_text(json.dumps(table))
    with pytest.raises(PrismError, match="not a plain file name"):
        ModelDirectory(folder)


def test_weights_of_the_wrong_shape(model: Model) -> None:
    weights = {**model.weights, "extra": np.zeros(1, dtype=np.float32)}
    weights["encoder.final_norm.bias"] = np.zeros(3, dtype=np.float32)
    del weights["decoder.final_norm.bias"]
    with pytest.raises(
        PrismError, match="missing decoder.final_norm.bias; unexpected extra; encoder.final_norm.bias"
    ):
        Model(model.spec, weights, model.source, model.target)


def test_weights_that_are_no_numbers(model: Model, tmp_path: Path) -> None:
    name, array = next(iter(model.weights.items()))
    nothing = dataclasses.replace(model, weights={**model.weights, name: np.full_like(array, np.nan)})
    with pytest.raises(PrismError, match=f"{name} is not a number"):
        write_model(nothing, tmp_path / "bad")
    large = dataclasses.replace(model, weights={**model.weights, name: np.full_like(array, 1e5)})
    with pytest.raises(PrismError, match=f"{name} is too large for float16"):
        write_model(large, tmp_path / "bad", "float16")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("conventions", "eos"), 5000, "eos is 5000, but there are"),
        (("conventions", "unknown"), -1, "unknown is -1"),
        (("languages", "en"), 5000, "the tag of en is 5000, but there are"),
        (("architecture", "max_positions"), 5_000_000, "max_positions 5,000,000 is too many for the width 32"),
        (("architecture", "position_offset"), -5, "position_offset must be between 0"),
        (("architecture", "norm_epsilon"), -1.0, "norm_epsilon must be at least 0"),
    ],
)
def test_impossible_numbers(folder: Path, place: tuple[str, str], value: object, message: str) -> None:
    config = json.loads((folder / "config.json").read_text())
    config["spec"][place[0]][place[1]] = value
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(PrismError, match=message):
        ModelDirectory(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [('["a"]', "has 1 pieces for"), ("[1, 2]", "is not a list of pieces"), ("[" * 100_000, "is not valid JSON")],
)
def test_dictionary_that_does_not_fit(
    folder: Path, text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "dictionary.json").write_text(text)
    config = json.loads((folder / "config.json").read_text())
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    config["files"]["dictionary.json"] = {"size": len(text), "sha256": sha256}
    (folder / "config.json").write_text(json.dumps(config))
    monkeypatch.setattr(directory, "_digest", lambda spec, files: config["digest"])
    with pytest.raises(PrismError, match=message):
        ModelDirectory(folder).load()
