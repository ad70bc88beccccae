import io
import json
from pathlib import Path

import numpy as np
import pytest
from made import SENTENCES, make_vocabulary

from prism_mt._core.errors import PrismError
from prism_mt.corpus.data_directory import ShardDataset, digest_data, read_meta, read_vocabularies
from prism_mt.corpus.shard_writer import ShardWriter

ROWS = [
    ("de", "en", [10, 11, 12], [13, 14]),
    ("en", "en", [15], [16, 17]),
    ("en", "de", [18, 19], [20]),
    ("de", "de", [], [21, 22, 23]),
]


def write(folder: Path, sentencepiece: bytes, shard_tokens: int = 2**25) -> None:
    with ShardWriter(folder, sentencepiece, ["de", "en"], shard_tokens) as writer:
        for row in ROWS:
            writer.add("train", *row)
        writer.add("valid", *ROWS[0])


@pytest.mark.parametrize(("shard_tokens", "shards"), [(2**25, 1), (6, 2), (1, 4)])
def test_what_is_written_is_read(tmp_path: Path, sentencepiece: bytes, shard_tokens: int, shards: int) -> None:
    write(tmp_path, sentencepiece, shard_tokens)
    data = ShardDataset(tmp_path)
    found = [tuple(side.tolist() for side in data.pair(row)) for row in range(len(data))]
    assert found == [(source, target) for _, _, source, target in ROWS]
    assert data.target_lengths.tolist() == data.source_lengths.tolist() == [[3, 1, 2, 0], [2, 2, 1, 3]]
    assert data.languages.tolist() == [[0, 1, 1, 0], [1, 1, 0, 0]]
    assert [tuple(side.tolist() for side in data.pair_as_sources(row)) for row in range(len(data))] == found
    assert len(ShardDataset(tmp_path, "valid")) == 1
    assert len(read_meta(tmp_path).shards) == shards


def test_the_files_are_as_described(tmp_path: Path, sentencepiece: bytes) -> None:
    write(tmp_path, sentencepiece)
    tokens, index = np.load(tmp_path / "train-00000.tokens.npy"), np.load(tmp_path / "train-00000.index.npy")
    assert tokens.dtype == np.uint16
    assert tokens.tolist() == [*range(10, 24)]
    assert index.dtype == np.int64
    assert index.tolist() == [[0, 3, 2, 0, 1], [5, 1, 2, 1, 1], [8, 2, 1, 1, 0], [11, 0, 3, 0, 0]]
    assert json.loads((tmp_path / "meta.json").read_text()) == {
        "version": 2,
        "languages": ["de", "en"],
        "vocabulary": 60,
        "source_vocabulary": None,
        "pairs": {"de-de": 1, "de-en": 1, "en-de": 1, "en-en": 1},
        "shards": ["train-00000"],
        "valid": ["valid-00000"],
    }
    assert (tmp_path / "spm.model").read_bytes() == sentencepiece


def test_a_directory_without_its_end_is_not_complete(tmp_path: Path, sentencepiece: bytes) -> None:
    write(tmp_path, sentencepiece)
    with pytest.raises(ZeroDivisionError), ShardWriter(tmp_path, sentencepiece, ["de"]):
        raise ZeroDivisionError
    with pytest.raises(PrismError, match=r"no meta.json"):
        ShardDataset(tmp_path)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("de", "fr", [5], [5]), "language fr was not declared"),
        (("de", "en", [5], []), "empty target"),
        (("de", "en", [5], [60]), "a piece id exceeds the vocabulary of 60"),
    ],
)
def test_bad_rows(
    tmp_path: Path, sentencepiece: bytes, row: tuple[str, str, list[int], list[int]], message: str
) -> None:
    with pytest.raises(PrismError, match=message), ShardWriter(tmp_path, sentencepiece, ["de", "en"]) as writer:
        writer.add("train", *row)


def test_a_language_without_a_tag(tmp_path: Path, sentencepiece: bytes) -> None:
    with pytest.raises(PrismError, match="no tag <xx> for fr, it"):
        ShardWriter(tmp_path, sentencepiece, ["de", "fr", "it"])


def test_other_special_ids(tmp_path: Path) -> None:
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES),
        model_writer=model,
        vocab_size=300,
        hard_vocab_limit=False,
        control_symbols=["<de>", "<en>"],
        minloglevel=2,
    )
    with pytest.raises(PrismError, match="must have the ids 1, 2 and 3, not -1, 2, 0"):
        ShardWriter(tmp_path, model.getvalue(), ["de", "en"])


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "meta.json").write_text('{"version": 3}')
    with pytest.raises(PrismError, match="version 3"):
        read_meta(tmp_path)


def test_subwords_that_are_not_those_of_the_shards(tmp_path: Path, sentencepiece: bytes) -> None:
    write(tmp_path, sentencepiece)
    source, target = read_vocabularies(tmp_path)
    assert source is target
    assert len(target) == 60
    text = (tmp_path / "meta.json").read_text()
    (tmp_path / "meta.json").write_text(text.replace("60", "61"))
    with pytest.raises(PrismError, match="has 60 pieces, but the shards beside it were made with 61"):
        read_vocabularies(tmp_path)
    (tmp_path / "spm.model").unlink()
    with pytest.raises(PrismError, match=r"cannot read .*spm.model"):
        read_vocabularies(tmp_path)


def test_sources_with_a_vocabulary_of_their_own(tmp_path: Path, sentencepiece: bytes) -> None:
    own = make_vocabulary().sentencepiece
    with ShardWriter(tmp_path, sentencepiece, ["de", "en"], 6, source_sentencepiece=own) as writer:
        for number, row in enumerate(ROWS):
            texts = ([100 + number] * len(row[2]), [200 + number, 270])
            writer.add("train", *row, in_source_pieces=texts)
        with pytest.raises(PrismError, match="a separate source vocabulary needs the texts"):
            writer.add("train", *ROWS[0])
    data = ShardDataset(tmp_path)
    assert [tuple(side.tolist() for side in data.pair(row)) for row in range(4)] == [row[2:] for row in ROWS]
    assert [tuple(side.tolist() for side in data.pair_as_sources(row)) for row in range(4)] == [
        ([100] * 3, [200, 270]),
        ([101], [201, 270]),
        ([102] * 2, [202, 270]),
        ([], [203, 270]),
    ]
    assert data.target_lengths.tolist() == [[3, 1, 2, 0], [2, 2, 1, 3]]
    assert data.source_lengths.tolist() == [[3, 1, 2, 0], [2, 2, 2, 2]]
    source, target = read_vocabularies(tmp_path)
    assert (source.sentencepiece, target.sentencepiece) == (own, sentencepiece)
    before = digest_data(tmp_path)
    (tmp_path / "spm.source.model").write_bytes(own + b"\x0a\x00")
    assert digest_data(tmp_path) != before


@pytest.mark.parametrize("value", ["Infinity", "NaN", "[]", '"x"'])
def test_a_damaged_description(tmp_path: Path, sentencepiece: bytes, value: str) -> None:
    write(tmp_path, sentencepiece)
    text = (tmp_path / "meta.json").read_text()
    (tmp_path / "meta.json").write_text(text.replace("60", value))
    with pytest.raises(PrismError, match=r"meta.json is damaged"):
        read_vocabularies(tmp_path)


@pytest.mark.parametrize(("column", "value"), [(0, 10**9), (0, -1), (1, 10**9), (3, 99)])
def test_a_damaged_index(tmp_path: Path, sentencepiece: bytes, column: int, value: int) -> None:
    write(tmp_path, sentencepiece)
    [path] = tmp_path.glob("train*.index.npy")
    index = np.load(path).astype(np.int64)
    index[0, column] = value
    np.save(path, index)
    with pytest.raises(PrismError, match="the shard .* is damaged"):
        ShardDataset(tmp_path)
