"""Training that starts from a pretrained encoder, with a source vocabulary of its own."""

import dataclasses
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from made import make_model, make_vocabulary
from safetensors.numpy import save_file

from prism_mt._core.errors import PrismError
from prism_mt.corpus.data_directory import ShardDataset
from prism_mt.corpus.shard_writer import ShardWriter
from prism_mt.metrics.score import score
from prism_mt.models.directory import ModelDirectory, write_model
from prism_mt.models.network import Transformer
from prism_mt.models.spec import Conventions, Shape
from prism_mt.text.subwords import Vocabulary
from prism_mt.text.unigram import Specials, unigram_model
from prism_mt.training.api import train
from prism_mt.training.config import Limits
from prism_mt.training.distributed import World
from prism_mt.training.loop import Loop
from prism_mt.training.translation.config import Initial, TrainConfig
from prism_mt.training.translation.cross_entropy import TranslationLoss
from prism_mt.training.translation.initial import piece_rows, take_model
from prism_mt.training.translation.objective import TranslationObjective
from prism_mt.training.translation.stream import ExampleStream

ALONE = World(0, 1, torch.device("cpu"))
SHAPE = Shape(
    width=32,
    encoder_layers=1,
    decoder_layers=2,
    encoder_heads=4,
    decoder_heads=4,
    encoder_feed_forward=48,
    decoder_feed_forward=48,
    max_positions=256,
    tied_embeddings=False,
)


@pytest.fixture
def pretrained(tmp_path: Path) -> ModelDirectory:
    """A model of two layers whose sources start with a token of their own."""
    model = make_model(encoder_layers=2, decoder_layers=1, width=32)
    conventions = Conventions(source=("bos", "pieces", "eos"))
    spec = dataclasses.replace(model.spec, conventions=conventions)
    return write_model(dataclasses.replace(model, spec=spec), tmp_path / "pretrained")


@pytest.fixture
def config(
    toy_config: TrainConfig, sentencepiece: bytes, pretrained: ModelDirectory, tmp_path: Path
) -> TrainConfig:
    """A run on data whose sources are in the pieces of the pretrained model."""
    draw, source, target = random.Random(3), make_vocabulary(), Vocabulary(sentencepiece)
    words = ["".join(draw.choice("abcdefghij") for _ in range(3)) for _ in range(20)]
    own = source.sentencepiece
    with ShardWriter(tmp_path / "data", sentencepiece, ["de", "en"], source_sentencepiece=own) as writer:
        for number in range(60):
            texts = [" ".join(draw.choices(words, k=3)) for _ in range(2)]
            first, second = (target.encode(text) for text in texts)
            pieces = (source.encode(texts[0]), source.encode(texts[1]))
            writer.add("valid" if number % 10 == 0 else "train", "de", "en", first, second, pieces)
    return dataclasses.replace(
        toy_config,
        data=tmp_path / "data",
        architecture=SHAPE,
        initial=Initial(str(pretrained.folder)),
        frozen=("encoder",),
        limits=Limits(steps=6),
    )


def run(config: TrainConfig, **changes: Any) -> Loop:
    config = dataclasses.replace(config, **changes)
    loop = Loop(TranslationObjective(config, ALONE), config, ALONE)
    loop.run()
    return loop


def encoder_of(loop: Loop) -> dict[str, np.ndarray]:
    weights = loop.objective.weights()
    return {name: tensor.numpy() for name, tensor in weights.items() if name.startswith("encoder.")}


def test_a_frozen_encoder_is_the_pretrained_one(
    config: TrainConfig, pretrained: ModelDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    loop = run(config)
    theirs = pretrained.weights()
    ours = encoder_of(loop)
    assert "encoder.layers.0.feed_forward.inner.weight" in ours
    for name, array in ours.items():
        assert np.array_equal(array, theirs[name]), name
    assert f"{len(ours)} of {len(ours)} encoder weights initialized from" in capsys.readouterr().err
    groups = [group for optimizer in loop.optimizers for group in optimizer.param_groups]
    trained = {id(parameter) for group in groups for parameter in group["params"]}
    module = loop.objective.module
    assert trained == {id(p) for name, p in module.named_parameters() if "model.encoder." not in name}
    module.train()
    assert not module.get_submodule("model.encoder").training
    assert module.get_submodule("model.decoder").training


def test_a_trained_encoder_starts_there_and_moves(config: TrainConfig, pretrained: ModelDirectory) -> None:
    moved = encoder_of(run(config, frozen=()))
    name = "encoder.layers.0.feed_forward.inner.weight"
    change = np.abs(moved[name] - pretrained.weights()[name]).max()
    assert 1e-4 < change < 0.2


def test_a_decoder_that_starts_from_the_encoder(
    config: TrainConfig, pretrained: ModelDirectory, sentencepiece: bytes
) -> None:
    config = dataclasses.replace(config, initial=Initial(str(pretrained.folder), decoder=True))
    objective = TranslationObjective(config, ALONE)
    before = {name: tensor.clone() for name, tensor in objective.weights().items()}
    objective.begin(ALONE)
    ours, theirs = objective.weights(), pretrained.weights()
    for layer in (0, 1):
        for part in ("self_attention.query.weight", "feed_forward.outer.bias", "self_attention_norm.weight"):
            name = f"layers.{layer}.{part}"
            assert np.array_equal(ours[f"decoder.{name}"].numpy(), theirs[f"encoder.{name}"]), name
        name = f"decoder.layers.{layer}.cross_attention.query.weight"
        assert torch.equal(ours[name], before[name])
    target, source = Vocabulary(sentencepiece), pretrained.source
    vectors, table = ours["decoder.embedding.weight"].numpy(), theirs["encoder.embedding.weight"]
    unknown = source.processor.unk_id()
    pieces = [target.piece(index) for index in range(len(target))]
    shared = [index for index, piece in enumerate(pieces) if source.processor.piece_to_id(piece) != unknown]
    assert len(shared) > 10
    for index in shared:
        place = source.processor.piece_to_id(pieces[index])
        np.testing.assert_allclose(vectors[index], table[place], rtol=1e-6)


def test_the_exported_model_has_both_vocabularies_and_the_source_convention(config: TrainConfig) -> None:
    result = train(config)
    assert result.folder is not None
    made = ModelDirectory(result.folder)
    assert made.spec.conventions == Conventions(source=("bos", "pieces", "eos"))
    assert made.source.sentencepiece == make_vocabulary().sentencepiece
    assert made.target is not made.source
    assert made.spec.architecture == SHAPE.with_vocabularies(len(made.source), 60)
    scores = score(["abc abd"], ref=["abd"], lang="en", metrics="prism-ref", model=str(made.folder))
    assert np.isfinite(scores.item().score)


def test_a_run_with_sampled_softmax_resumes_exactly_and_validates_in_full(
    config: TrainConfig, tmp_path: Path
) -> None:
    sampled = dataclasses.replace(config, negatives=5)
    whole = run(sampled, output=tmp_path / "whole")
    run(sampled, limits=Limits(steps=3))
    again = run(sampled)
    for name, tensor in whole.objective.weights().items():
        assert torch.equal(tensor, again.objective.weights()[name]), name
    name = "decoder.embedding.weight"
    full = run(config, output=tmp_path / "full").objective.weights()[name]
    assert not torch.equal(whole.objective.weights()[name], full)
    objective = again.objective
    objective.module.eval()
    with torch.no_grad():
        value = objective.validate().value
        assert isinstance(objective.module, TranslationLoss)
        objective.module.negatives = 0
        assert objective.validate().value == value


def test_rows_of_another_vocabulary_are_taken_piece_by_piece(
    config: TrainConfig, pretrained: ModelDirectory, tmp_path: Path
) -> None:
    theirs = pretrained.source
    chosen = [*range(9), *range(20, len(theirs), 2)]
    pruned = unigram_model(
        [theirs.piece(index).encode() for index in chosen],
        np.array([theirs.processor.get_score(index) for index in chosen], dtype=np.float32),
        Specials(bos=0, pad=1, eos=2, unknown=3),
    )
    target = (config.data / "spm.model").read_bytes()
    with ShardWriter(tmp_path / "pruned", target, ["de", "en"], source_sentencepiece=pruned) as writer:
        for part in ("train", "valid", "train"):
            writer.add(part, "de", "en", [20, 21], [22], ([9, 10], [11]))
    loop = run(config, data=tmp_path / "pruned", limits=Limits(steps=1))
    found = encoder_of(loop)["encoder.embedding.weight"]
    assert np.array_equal(found, pretrained.weights()["encoder.embedding.weight"][chosen])


def test_pieces_that_the_encoder_lacks_get_the_mean_of_their_text(pretrained: ModelDirectory) -> None:
    theirs, table = pretrained.source, pretrained.weights()["encoder.embedding.weight"]
    known = [theirs.piece(index) for index in range(9, 12)]
    new = "".join(known).replace("▁", "") + "".join(known).replace("▁", "")
    ours = Vocabulary(
        unigram_model(
            [b"<s>", b"<pad>", b"</s>", b"<unk>", known[0].encode(), new.encode(), b"<xx>"],
            np.zeros(7, dtype=np.float32),
            Specials(bos=0, pad=1, eos=2, unknown=3),
        )
    )
    rows = piece_rows(ours, theirs, table)
    np.testing.assert_array_equal(rows[:5], table[[0, 1, 2, 3, 9]])
    unknown = theirs.processor.unk_id()
    places = [place for place in theirs.processor.encode(new) if place != unknown]
    assert len(places) > 1
    np.testing.assert_allclose(rows[5], table[places].mean(0), rtol=1e-5)
    np.testing.assert_allclose(rows[6], table.mean(0), rtol=1e-5)


def test_a_safetensors_file_is_an_encoder_too(config: TrainConfig, tmp_path: Path) -> None:
    name = "encoder.layers.0.feed_forward.inner.bias"
    weights = {name: np.full(48, 3.0, np.float32), "encoder.embedding.weight": np.ones((7, 32), np.float32)}
    save_file(weights, tmp_path / "e.safetensors")
    started = {"initial": Initial(str(tmp_path / "e.safetensors")), "source_symbols": ("bos", "pieces", "eos")}
    with pytest.raises(PrismError, match="a frozen encoder must be complete, and .* has no matching"):
        run(config, **started)
    loop = run(config, **started, frozen=(), limits=Limits(steps=1))
    ours = encoder_of(loop)
    assert np.abs(ours[name] - 3.0).max() < 0.01
    assert ours["encoder.embedding.weight"].shape == (len(make_vocabulary()), 32)


@pytest.mark.parametrize(
    ("content", "message"),
    [({"decoder.x": np.zeros(2)}, "no weight of .* matches"), (None, "cannot read")],
)
def test_encoders_that_do_not_fit(config: TrainConfig, tmp_path: Path, content: Any, message: str) -> None:
    path = tmp_path / "bad.safetensors"
    if content is None:
        path.write_bytes(b"nothing")
    else:
        save_file(content, path)
    with pytest.raises(PrismError, match=message):
        run(config, initial=Initial(str(path)))


def test_one_embedding_for_two_vocabularies_is_refused(config: TrainConfig) -> None:
    tied = dataclasses.replace(SHAPE, tied_embeddings=True)
    with pytest.raises(PrismError, match="tied embeddings need one vocabulary"):
        run(config, architecture=tied)


def test_lengths_are_those_of_both_vocabularies(config: TrainConfig) -> None:
    data = ShardDataset(config.data)
    assert not np.array_equal(data.source_lengths, data.target_lengths)
    longest = np.concatenate([data.source_lengths, data.target_lengths]).max(0)
    limit = int(longest.max()) - 1
    assert (data.target_lengths.max(0) <= limit).sum() > (longest <= limit).sum()
    batches = dataclasses.replace(config.batches, max_length=limit)
    assert ExampleStream(data, batches, 0.0, 1).examples == 2 * (longest <= limit).sum() > 0


def whole(config: TrainConfig, tmp_path: Path) -> Path:
    """A model made by a first run."""
    result = train(dataclasses.replace(config, output=tmp_path / "first"))
    assert result.folder is not None
    return result.folder


def test_a_run_continues_from_all_weights_of_a_model(config: TrainConfig, tmp_path: Path) -> None:
    first = whole(config, tmp_path)
    again = dataclasses.replace(config, initial=Initial(model=str(first)), output=tmp_path / "second")
    objective = TranslationObjective(again, ALONE)
    objective.begin(ALONE)
    weights = ModelDirectory(first).weights()
    for name, tensor in objective.model.state_dict().items():
        np.testing.assert_allclose(tensor.numpy(), weights[name], atol=1e-6, err_msg=name)
    assert objective.conventions.source == ("bos", "pieces", "eos")


def test_a_model_of_another_architecture_or_vocabulary_is_refused(config: TrainConfig, tmp_path: Path) -> None:
    first = str(whole(config, tmp_path))
    wider = dataclasses.replace(SHAPE, decoder_feed_forward=64)
    other = dataclasses.replace(config, initial=Initial(model=first), architecture=wider)
    with pytest.raises(PrismError, match="another architecture \\(decoder_feed_forward differ\\)"):
        TranslationObjective(other, ALONE).begin(ALONE)
    objective = TranslationObjective(dataclasses.replace(config, initial=Initial(model=first)), ALONE)
    assert isinstance(objective.model, Transformer)
    target = objective.vocabulary
    with pytest.raises(PrismError, match="the source pieces of .* are not those of the data"):
        take_model(objective.model, first, target, target)
