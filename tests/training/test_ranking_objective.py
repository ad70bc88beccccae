"""Fine-tuning on made pairs, from the data to the model directory."""

import csv
import dataclasses
import signal
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
from made import make_model
from made_segments import made_segments
from toy_training import run_two_processes

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.ranking_pairs import read_ranked, segment_keys, write_ranked
from prism_mt.models.directory import ModelDirectory, write_model
from prism_mt.training.config import Checkpoints, Limits, Optimizer
from prism_mt.training.distributed import World
from prism_mt.training.loop import Loop
from prism_mt.training.ranking.config import (
    Adapters,
    FinetuneConfig,
    Ranking,
    RankingValidation,
    SegmentBatches,
)
from prism_mt.training.ranking.export import export_finetuned
from prism_mt.training.ranking.network import adapted_network, load_trained
from prism_mt.training.ranking.objective import RankingObjective

ALONE = World(0, 1, torch.device("cpu"))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> ModelDirectory:
    folder = tmp_path_factory.mktemp("base") / "model"
    model = make_model(encoder_layers=1, decoder_layers=1)
    spec = dataclasses.replace(model.spec, origin_digest="of the original files")
    return write_model(dataclasses.replace(model, spec=spec), folder)


@pytest.fixture
def config(base: ModelDirectory, tmp_path: Path) -> FinetuneConfig:
    write_ranked(tmp_path / "pairs.jsonl", made_segments(20, 5))
    return FinetuneConfig(
        name="made-ft",
        model=str(base.folder),
        train=(tmp_path / "pairs.jsonl",),
        valid=(tmp_path / "pairs.jsonl",),
        output=tmp_path / "run",
        device="cpu",
        ranking=Ranking(scores="log-probabilities", margin=0.3),
        optimizer=Optimizer(learning_rate=1e-2, clip=1.2),
        batches=SegmentBatches(tokens=1500, update_tokens=1500),
        limits=Limits(steps=4),
        validation=RankingValidation(every=2),
    )


def open_loop(config: FinetuneConfig, resume: bool = True) -> Loop:
    return Loop(RankingObjective(config, ALONE), config, ALONE, resume)


def rows(path: Path) -> list[dict[str, float]]:
    with path.open(encoding="utf-8", newline="") as handle:
        return [
            {name: float(value) for name, value in row.items() if name not in ("pair", "tokens_per_second")}
            for row in csv.DictReader(handle)
        ]


def test_golden_losses(config: FinetuneConfig) -> None:
    """Losses and accuracies of the first release, whose loop was another one."""
    open_loop(dataclasses.replace(config, dropout=0.1)).run()
    table = rows(config.output / "train.csv")
    expected = {
        "loss": [1.3970654470, 1.2698419910, 1.0349715822, 1.0536540964],
        "cross_entropy": [9.8198086825, 8.5316318088, 7.7041637074, 7.2312839084],
        "forward": [0.5409646468, 0.4617234548, 0.2720544295, 0.3650748358],
        "backward": [0.2892045108, 0.3716341654, 0.2570559935, 0.2959765752],
    }
    for column, values in expected.items():
        assert [row[column] for row in table] == pytest.approx(values, rel=1e-4), column
    assert [row["accuracy"] for row in rows(config.output / "valid.csv")] == [0.485, 0.64, 0.66]


def test_two_hundred_pairs_are_learnt(config: FinetuneConfig) -> None:
    long = dataclasses.replace(config, limits=Limits(steps=30), validation=RankingValidation(every=30))
    assert open_loop(long).run()
    losses = [row["loss"] for row in rows(config.output / "train.csv")]
    assert np.mean(losses[-5:]) < 0.5 * np.mean(losses[:5])
    before, *_, after = rows(config.output / "valid.csv")
    assert before["pairs"] == 200
    assert before["accuracy"] < 0.7
    assert after["accuracy"] > 0.95
    assert after["tau"] > before["tau"]


def test_a_resumed_run_is_the_same_run(config: FinetuneConfig, tmp_path: Path) -> None:
    whole = open_loop(config)
    whole.run()
    parts = dataclasses.replace(config, output=tmp_path / "parts")
    open_loop(dataclasses.replace(parts, limits=Limits(steps=2))).run()
    second = open_loop(parts)
    assert second.progress.step == 2
    second.run()
    for name in ("train.csv", "valid.csv"):
        assert rows(tmp_path / "parts" / name) == rows(config.output / name)
    for mine, theirs in zip(
        whole.objective.module.parameters(), second.objective.module.parameters(), strict=True
    ):
        assert torch.equal(mine, theirs)


def test_a_signal_between_validations_loses_nothing(config: FinetuneConfig, tmp_path: Path) -> None:
    whole = open_loop(config)
    whole.run()
    parts = dataclasses.replace(config, output=tmp_path / "parts")
    first = open_loop(parts)

    def terminate(_: torch.nn.Module, inputs: tuple[str, object], __: object) -> None:
        # Once only, in the middle of an update: a second signal ends the process.
        if first.progress.step == 3 and inputs[0] == "forward":
            signal.raise_signal(signal.SIGTERM)

    first.objective.module.register_forward_hook(terminate)
    before = signal.getsignal(signal.SIGTERM)
    assert not first.run()
    assert signal.getsignal(signal.SIGTERM) == before
    second = open_loop(parts)
    assert second.progress.step == 3
    assert second.run()
    for name in ("train.csv", "valid.csv"):
        assert rows(tmp_path / "parts" / name) == rows(config.output / name)


def test_a_run_killed_before_its_first_update_is_the_same_run(config: FinetuneConfig, tmp_path: Path) -> None:
    patient = dataclasses.replace(config, limits=Limits(steps=4, patience=1))
    whole = open_loop(patient)
    whole.run()
    parts = dataclasses.replace(patient, output=tmp_path / "parts")
    first = open_loop(parts)
    first.objective.module.register_forward_hook(_die_in_training)
    with pytest.raises(InterruptedError):
        first.run()
    second = open_loop(parts)
    assert (second.progress.step, second.progress.worse) == (0, 0)
    second.run()
    for name in ("train.csv", "valid.csv"):
        assert rows(tmp_path / "parts" / name) == rows(config.output / name)


def _die_in_training(*_: object) -> None:
    raise InterruptedError


def test_two_processes_do_what_one_does(config: FinetuneConfig, tmp_path: Path) -> None:
    # Batches so small that the two processes have different numbers of them.
    config = dataclasses.replace(config, batches=SegmentBatches(tokens=100, update_tokens=700))
    alone = open_loop(config)
    alone.run()
    torch.save(dataclasses.replace(config, output=tmp_path / "two"), tmp_path / "config.pt")
    run_two_processes(Path(__file__).with_name("ranking_in_two_processes.py"), tmp_path)
    for rank in (0, 1):
        weights = torch.load(tmp_path / f"weights-{rank}.pt")
        for name, tensor in alone.objective.weights().items():
            # Attention does not depend on the bias of its keys: there is only rounding for Adam to enlarge.
            if not name.endswith("key.bias"):
                torch.testing.assert_close(weights[name], tensor, rtol=1e-3, atol=1e-3)
    for name, column in (("train.csv", "loss"), ("valid.csv", "tau")):
        one, two = (rows(folder / name) for folder in (config.output, tmp_path / "two"))
        assert [row[column] for row in two] == pytest.approx([row[column] for row in one], rel=1e-3, abs=1e-3)


def test_another_loss_does_not_go_on_from_these_checkpoints(config: FinetuneConfig) -> None:
    open_loop(config).run()
    changed = dataclasses.replace(config, ranking=Ranking(margin=0.7))
    with pytest.raises(PrismError, match=r"other settings \(ranking\).*`fresh=`"):
        open_loop(changed)
    assert open_loop(changed, resume=False).progress.step == 0


def test_other_pairs_do_not_go_on_from_these_checkpoints(config: FinetuneConfig) -> None:
    open_loop(config).run()
    [path] = config.train
    turned = [
        dataclasses.replace(segment, pairs=tuple((worse, better) for better, worse in segment.pairs))
        for segment in read_ranked(path)
    ]
    write_ranked(path, turned)
    with pytest.raises(PrismError, match=r"other settings \(pairs\)"):
        open_loop(config)


def test_a_model_is_not_overwritten_by_its_own_fine_tuning(config: FinetuneConfig, base: ModelDirectory) -> None:
    with pytest.raises(PrismError, match="would be overwritten: choose another output"):
        open_loop(dataclasses.replace(config, output=base.folder.parent))


def test_trained_weights_fit_only_the_model_that_they_were_trained_on(
    config: FinetuneConfig, tmp_path: Path
) -> None:
    with pytest.raises(PrismError, match="no checkpoint yet"):
        export_finetuned(config)
    adapted = dataclasses.replace(config, adapters=Adapters(rank=2), limits=Limits(steps=1))
    open_loop(adapted).run()
    write_model(make_model(encoder_layers=1, decoder_layers=1, seed=9), tmp_path / "other")
    for changed in (
        {"adapters": Adapters(rank=0)},
        {"adapters": Adapters(rank=3)},
        {"model": str(tmp_path / "other")},
    ):
        with pytest.raises(PrismError, match=r"other settings \((adapters|model)\)"):
            export_finetuned(dataclasses.replace(adapted, **changed))


def test_the_model_knows_what_it_was_fine_tuned_on(config: FinetuneConfig) -> None:
    open_loop(config).run()
    made = ModelDirectory(export_finetuned(config))
    [path] = config.train
    assert made.judged == segment_keys(read_ranked(path))
    again = write_model(made.load(), config.output / "copy", "float16")
    assert again.judged == made.judged


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_adapters_change_nothing_but_themselves_and_are_merged(
    config: FinetuneConfig, base: ModelDirectory, precision: Literal["float32", "bfloat16"]
) -> None:
    last = Checkpoints(export="last")
    adapted = dataclasses.replace(config, adapters=Adapters(rank=2), checkpoints=last, precision=precision)
    tuner = open_loop(adapted)
    tuner.run()
    trained = [name for name, tensor in tuner.objective.module.named_parameters() if tensor.requires_grad]
    assert trained
    assert all(name.endswith((".up", ".down")) for name in trained)
    made = ModelDirectory(export_finetuned(adapted))
    before, after = base.weights(), made.weights()
    assert np.array_equal(before["encoder.embedding.weight"], after["encoder.embedding.weight"])
    change = (
        after["decoder.layers.0.self_attention.query.weight"]
        - before["decoder.layers.0.self_attention.query.weight"]
    )
    values = np.linalg.svd(change, compute_uv=False)
    assert values[1] > 1e-6
    assert values[2] < 1e-5 * values[0] + 1e-6


def test_weights_of_another_kind_do_not_pass_for_trained_ones(
    base: ModelDirectory, config: FinetuneConfig
) -> None:
    network = adapted_network(base, dataclasses.replace(config, adapters=Adapters(rank=2)))
    with pytest.raises(PrismError, match="this checkpoint does not fit the model"):
        load_trained(network, {"decoder.layers.0.feed_forward.inner.weight": torch.zeros(1)})


def test_the_best_model_may_be_the_one_before(
    config: FinetuneConfig, base: ModelDirectory, caplog: pytest.LogCaptureFixture
) -> None:
    worse = dataclasses.replace(config, limits=Limits(steps=4, patience=1), optimizer=Optimizer(learning_rate=0.0))
    tuner = open_loop(worse)
    tuner.run()
    # Without learning nothing becomes better: the first validation after the one before training uses up all patience.
    assert (tuner.progress.step, tuner.progress.best_step) == (2, 0)
    made = ModelDirectory(export_finetuned(worse))
    assert "no validation improved on the initial model" in caplog.text
    assert "the checkpoint with the best validation, after 0 updates" in (made.folder / "README.md").read_text(
        encoding="utf-8"
    )
    assert (made.spec.name, made.spec.origin_digest) == ("made-ft", "")
    assert all(np.array_equal(array, made.weights()[name]) for name, array in base.weights().items())
    assert "| 0 | en-de |" in (made.folder / "README.md").read_text(encoding="utf-8")


def test_models_of_other_toolkits(config: FinetuneConfig, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    from hf_models import cached

    write_ranked(tmp_path / "pairs.jsonl", made_segments(4, 3, "de-fr"))
    m2m100 = dataclasses.replace(
        config,
        model=str(cached("m2m100")[0]),
        adapters=Adapters(rank=2),
        limits=Limits(steps=1),
        checkpoints=Checkpoints(export="last"),
    )
    open_loop(m2m100).run()
    assert ModelDirectory(export_finetuned(m2m100)).spec.conventions.needs_source_language
    write_ranked(tmp_path / "pairs.jsonl", made_segments(4, 3, "de-en"))
    marian = dataclasses.replace(m2m100, model=str(cached("marian")[0]), output=tmp_path / "marian")
    with pytest.raises(PrismError, match="cannot be fine-tuned on de-en: it does not paraphrase en"):
        open_loop(marian)
