from pathlib import Path

import numpy as np
from made import make_vocabulary

from prism_mt.corpus.data_directory import ShardDataset
from prism_mt.corpus.shard_writer import ShardWriter
from prism_mt.models.spec import Conventions
from prism_mt.text.subwords import Vocabulary
from prism_mt.training.translation.batches import Collator
from prism_mt.training.translation.config import Denoising
from prism_mt.training.translation.stream import Plan


def collator(folder: Path, sentencepiece: bytes, with_source: bool = True) -> Collator:
    with ShardWriter(folder, sentencepiece, ["de", "en"]) as writer:
        writer.add("train", "de", "en", [10, 11, 12], [20, 21])
        writer.add("train", "de", "en", [13], [22, 23, 24])
        writer.add("train", "en", "en", [], [25, 26])
    return Collator(
        ShardDataset(folder),
        Vocabulary(sentencepiece),
        Denoising(drop=0.0, replace=0.0, shuffle=0.0),
        with_source=with_source,
    )


def plan(rows: list[int], reverse: list[bool], noised: list[bool], lengths: list[int]) -> Plan:
    return Plan(np.array(rows), np.array(reverse), np.array(noised), np.array(lengths), (1, 2))


def test_special_tokens_padding_and_what_is_predicted(tmp_path: Path, sentencepiece: bytes) -> None:
    batch = collator(tmp_path, sentencepiece)(plan([0, 1, 1], [False, False, True], [False] * 3, [2, 3, 1]))
    de, en = (Vocabulary(sentencepiece).processor.piece_to_id(tag) for tag in ("<de>", "<en>"))
    assert batch.source.tolist() == [[10, 11, 12, 2], [13, 2, 1, 1], [22, 23, 24, 2]]
    assert batch.source_padding is not None
    assert batch.source_padding.tolist() == [[False] * 4, [False, False, True, True], [False] * 4]
    assert batch.target_input.tolist() == [[2, en, 20, 21, 2], [2, en, 22, 23, 24], [2, de, 13, 2, 1]]
    # The state of the tag predicts the first piece, that of the last piece the end.
    assert batch.counted.tolist() == [1, 2, 3, 6, 7, 8, 9, 11, 12]
    assert batch.wanted.tolist() == [20, 21, 2, 22, 23, 24, 2, 13, 2]


def test_no_mask_without_padding(tmp_path: Path, sentencepiece: bytes) -> None:
    assert collator(tmp_path, sentencepiece)(plan([1], [False], [False], [3])).source_padding is None


def test_a_denoising_copy_has_the_target_as_source(tmp_path: Path, sentencepiece: bytes) -> None:
    batch = collator(tmp_path, sentencepiece)(plan([0, 2], [True, False], [True, True], [3, 2]))
    assert batch.source.tolist() == [[10, 11, 12, 2], [25, 26, 2, 1]]
    assert batch.target_input[:, 2:].tolist() == [[10, 11, 12], [25, 26, 2]]


def test_a_plan_counts_what_a_batch_predicts(tmp_path: Path, sentencepiece: bytes) -> None:
    planned = plan([0, 1, 1], [False, False, True], [False] * 3, [2, 3, 1])
    assert planned.predicted == len(collator(tmp_path, sentencepiece)(planned).wanted) == 9


def test_sources_in_pieces_of_their_own_with_a_start(tmp_path: Path, sentencepiece: bytes) -> None:
    own = make_vocabulary().sentencepiece
    with ShardWriter(tmp_path, sentencepiece, ["de", "en"], source_sentencepiece=own) as writer:
        writer.add("train", "de", "en", [10, 11, 12], [20, 21], ([100, 101], [200, 201, 202]))
    collate = Collator(
        ShardDataset(tmp_path),
        Vocabulary(sentencepiece),
        Denoising(drop=0.0, replace=0.0, shuffle=0.0),
        Conventions(source=("bos", "pieces", "eos")),
    )
    batch = collate(plan([0, 0, 0], [False, True, False], [False, False, True], [2, 3, 2]))
    assert batch.source.tolist() == [[0, 100, 101, 2, 1], [0, 200, 201, 202, 2], [0, 200, 201, 202, 2]]
    assert batch.target_input[:, 2:].tolist() == [[20, 21, 2], [10, 11, 12], [20, 21, 2]]
