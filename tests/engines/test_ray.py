"""Scoring on a Ray cluster; what needs no cluster is tested without one."""

import asyncio
import logging
import pickle
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import SENTENCES, make_model

from prism_mt import __version__
from prism_mt._core.errors import PrismError
from prism_mt.cli.main import main
from prism_mt.engines import ray as cluster
from prism_mt.engines.base import Pair
from prism_mt.engines.budgets import Budget
from prism_mt.engines.factory import EngineConfig, open_engine
from prism_mt.engines.ray import ClusterEngine, Feed, Scorer
from prism_mt.engines.scheduler import score_pairs
from prism_mt.models.directory import ModelDirectory, write_model

LINES = 300
CONFIG = EngineConfig(engine="ct2", device="cpu", threads=1)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ModelDirectory:
    return write_model(make_model(), tmp_path_factory.mktemp("cluster") / "made")


@pytest.fixture
def words(tmp_path: Path, model: ModelDirectory) -> list[str]:
    chance = random.Random(1)
    vocabulary = [word for sentence in SENTENCES for word in sentence.split()]
    for name in ("cand", "ref"):
        lines = [" ".join(chance.choices(vocabulary, k=chance.randint(1, 9))) for _ in range(LINES)]
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    texts = ["--cand", str(tmp_path / "cand"), "--ref", str(tmp_path / "ref"), "--lang", "en"]
    return ["score", "--model", str(model.folder), *texts, "--no-language-check", "--threads", "1", "--segments"]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (
            ["--metric", "prism-ref", "bleu"],
            "--ray only works with forced decoding: run bleu without it",
        ),
        (["--device", "cuda:1"], "with --ray the device is cpu, or cuda for a GPU per actor, not cuda:1"),
    ],
)
def test_what_does_not_go_with_a_cluster_is_one_sentence(
    words: list[str], extra: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--ray", "auto", *extra]) == 2
    assert message in capsys.readouterr().err


def test_ray_that_is_not_installed_is_one_sentence(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(words) == 0  # all scores are in the cache now
    monkeypatch.setitem(sys.modules, "ray", None)
    for cache in ("--cache", "--no-cache"):
        for address in ("auto", "local"):
            assert main([*words, cache, "--ray", address]) == 2
            assert "pip install 'prism-mt[ray]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("127.0.0.1:1", "cannot reach a Ray cluster at 127.0.0.1:1: "),
        ("nowhere", "cannot reach a Ray cluster at nowhere: write HOST:PORT, auto, or local"),
        ("ray://127.0.0.1:1", "start prism on a machine of the cluster"),
    ],
)
def test_a_cluster_that_is_not_there_is_one_sentence(
    words: list[str], address: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ray", reason="needs the extra ray")
    assert main([*words, "--no-cache", "--ray", address]) == 2
    assert message in capsys.readouterr().err


def test_the_feed_waits_for_batches_and_gives_them_again_until_they_are_answered() -> None:
    async def read() -> list[bytes]:
        feed = Feed()
        waiting = asyncio.create_task(feed.get(1))
        await feed.put(0, b"a")
        await asyncio.sleep(0)
        assert not waiting.done()
        await feed.put(1, b"b")
        found = [await waiting, await feed.get(0), await feed.get(0)]
        await feed.drop(0)
        return [*found, await feed.get(0)]

    assert asyncio.run(read()) == [b"b", b"a", b"a", pickle.dumps([])]


def test_an_actor_scores_as_an_engine_does(model: ModelDirectory) -> None:
    pairs = [Pair((4, 9 + n % 5, 2), (2, 5, *range(9, 10 + n % 7), 2)) for n in range(40)]
    wanted = score_pairs(open_engine(model, CONFIG), pairs)
    answer = pickle.loads(Scorer(model.folder, model.digest, CONFIG, 1.0, __version__).answer(pickle.dumps(pairs)))
    for a, b in zip(answer, wanted, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": "0.0.0"}, f"prism-mt is {__version__} there and 0.0.0 here: install the same"),
        (
            {"folder": Path("no/such/folder")},
            "no such folder: no/such/folder; put the model where all machines can read it",
        ),
        ({"digest": "0" * 64}, "is a different model there"),
    ],
)
def test_a_machine_that_would_score_otherwise_says_so(
    model: ModelDirectory, change: dict[str, Any], message: str
) -> None:
    given = {"folder": model.folder, "digest": model.digest, "version": __version__, **change}
    answer = pickle.loads(
        Scorer(config=CONFIG, temperature=1.0, **given).answer(pickle.dumps([Pair((4, 9, 2), (2, 5, 9, 2))]))
    )
    assert isinstance(answer, PrismError)
    assert message in str(answer)


def test_the_driver_does_not_look_for_the_device_of_the_actors(model: ModelDirectory, tmp_path: Path) -> None:
    """A machine without a GPU may send work to one that has."""
    from prism_mt._core.cache import Store
    from prism_mt.engines.cached import CachedEngine

    config = EngineConfig(engine="ct2", device="cuda", precision="float16", ray="auto")
    pair, store = Pair((4, 9, 2), (2, 5, 9, 2)), Store("scores", tmp_path / "c.sqlite")
    assert CachedEngine(model, config, 1.0, pytest.fail, store).remembered([pair]) == [None]


@pytest.fixture
def machines() -> Iterator[Any]:
    """Two machines of one core."""
    ray = pytest.importorskip("ray", reason="needs the extra ray")
    from ray.cluster_utils import Cluster

    one_core: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
    made: Any = Cluster(True, head_node_args={"include_dashboard": False, **one_core})
    try:
        made.add_node(**one_core)
        ray.init(address=made.address, log_to_driver=False, logging_level=logging.ERROR)
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


def test_a_machine_that_is_lost_changes_nothing(
    words: list[str], machines: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """No line is lost or doubled, and afterwards the cache of this machine knows all scores."""
    from ray.util.placement_group import placement_group, remove_placement_group

    assert main([*words, "--no-cache", "--output", str(tmp_path / "plain")]) == 0
    # The head is kept busy until the other machine, which has begun to score, is lost.
    head = placement_group([{"CPU": 1, "node:__internal_head__": 0.01}])
    assert head.wait(60)
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cluster, "CLUSTER_JOB", Budget(400, 400))
    receive, answers = ClusterEngine._receive, []

    def count(engine: ClusterEngine) -> None:
        receive(engine)
        answers.append(len(engine._under_way))
        if len(answers) == 5:
            machines.remove_node(machines.worker_nodes.copy().pop(), allow_graceful=False)
            remove_placement_group(head)

    monkeypatch.setattr(ClusterEngine, "_receive", count)
    assert main([*words, "--ray", "auto", "--output", str(tmp_path / "cluster")]) == 0, capsys.readouterr().err
    assert len(answers) > 20
    assert answers[4] > 0  # the machine took work with it
    plain, scored = (np.loadtxt(tmp_path / name) for name in ("plain", "cluster"))
    assert scored.shape == (LINES,)
    np.testing.assert_allclose(scored, plain, atol=1e-5)
    monkeypatch.setattr(ClusterEngine, "submit", None)
    assert main([*words, "--ray", "auto", "--output", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again").read_bytes() == (tmp_path / "cluster").read_bytes()
