"""Forced decoding on a Ray cluster: a Ray Data pipeline whose pool of actors has the model loaded.

Batches go out over a feed and come back in any order; the scheduler restores it. Ray repeats what a lost machine was
working on, and only the driver reads and writes the score cache.
"""

import asyncio
import logging
import pickle
import socket
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from prism_mt import __version__
from prism_mt._core.errors import MissingExtra, PrismError
from prism_mt.engines.base import Engine, Pair, Pending, TokenScores
from prism_mt.engines.budgets import CLUSTER_JOB
from prism_mt.engines.config import EngineConfig
from prism_mt.engines.local import open_local
from prism_mt.engines.scheduler import score_pairs
from prism_mt.models.directory import ModelDirectory

_KNOCK_SECONDS = 10.0


def check_cluster(address: str) -> None:
    """Fail if Ray is not installed, or if nothing listens at an address."""
    if not find_spec("ray"):
        raise MissingExtra("scoring on a Ray cluster", "ray")
    if address.startswith("ray://"):
        raise PrismError(f"start prism on a machine of the cluster, not from outside over {address}: `ray=` auto")
    try:
        _knock(address)
    except (OSError, ValueError) as error:
        raise PrismError(f"cannot reach a Ray cluster at {address}: {error}") from error


def connect(address: str) -> Any:
    """Return the module `ray`, connected to the cluster at `auto`, HOST:PORT, or `local`, which starts one here."""
    check_cluster(address)
    import ray

    if ray.is_initialized():
        return ray
    try:
        ours: dict[str, Any] = {"include_dashboard": False} if address == "local" else {}
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **ours)
    except Exception as error:  # a node that does not start raises nothing more specific
        raise PrismError(f"cannot reach a Ray cluster at {address}: {error}") from error
    return ray


def _knock(address: str) -> None:
    """Fail at once if nothing listens: Ray itself would try for minutes."""
    if address in ("auto", "local"):
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise ValueError("write HOST:PORT, auto, or local")
    socket.create_connection((host, int(port)), _KNOCK_SECONDS).close()


class ClusterEngine:
    """The engines of many machines as one. Each needs this version of the package and access to the model's folder."""

    shares_sources = False

    def __init__(self, model: ModelDirectory, config: EngineConfig, temperature: float = 1.0) -> None:
        self.name: str = config.engine
        self.dtype: str = config.precision
        self.temperature = temperature
        self._ray = connect(config.ray or "auto")
        device = config.device if config.device == "cuda" else "cpu"
        threads, self._actors = self._places(device, config.threads)
        self.budget = threads * CLUSTER_JOB.on(device)
        self.parallel = 4 * self._actors  # Ray Data enlarges its pool only where actors have work waiting
        actor = replace(config, ray=None, device=device, threads=threads)
        self._feed = self._start_feed()
        self._answers = self._start(
            Scorer(model.folder, model.digest, actor, temperature, __version__), threads, device
        )
        self._sent = 0
        self._under_way: set[int] = set()
        self._done: dict[int, list[TokenScores] | PrismError] = {}

    def submit(self, batch: Sequence[Pair]) -> Pending:
        """Hand a batch to whichever actor is free next."""
        number = self._sent
        self._sent += 1
        self._under_way.add(number)
        self._ray.get(self._feed.put.remote(number, pickle.dumps(list(batch))))

        def wait() -> list[TokenScores]:
            while number not in self._done:
                self._receive()
            answer = self._done.pop(number)
            if isinstance(answer, PrismError):
                raise answer
            return answer

        return wait

    def _places(self, device: str, threads: int | None) -> tuple[int, int]:
        """Threads per actor and number of actors: one GPU each, or about one machine each."""
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        unit = "GPU" if device == "cuda" else "CPU"
        sizes = [int(resources[unit]) for resources in nodes if resources.get(unit, 0) >= 1]
        if not sizes:
            raise PrismError(f"the Ray cluster has no {unit} to compute on")
        if device == "cuda":
            return 1, sum(sizes)
        wanted = threads or min(sizes)
        if wanted > max(sizes):
            raise PrismError(f"no machine of the Ray cluster has {wanted} cores: set fewer `threads=`")
        return wanted, sum(size // wanted for size in sizes)

    def _here(self) -> dict[str, Any]:
        """Placement of what must not be lost with another machine."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        node = self._ray.get_runtime_context().get_node_id()
        return {"scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=False)}

    def _start_feed(self) -> Any:
        return self._ray.remote(Feed).options(num_cpus=0, **self._here()).remote()

    def _start(self, scorer: "Scorer", threads: int, device: str) -> Iterator[Any]:
        """The running pipeline: feed → actors → answers."""
        import ray.data

        logging.getLogger("ray.data").setLevel(logging.ERROR)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        # Every batch is passed on at once: gathered into blocks of megabytes, it would wait for further ones.
        context.target_min_block_size = context.target_max_block_size = 1
        feed, get, here = self._feed, self._ray.get, self._here()

        def jobs(_: Any) -> Iterator[Any]:
            number = 0
            while True:
                yield _row(number, get(feed.get.remote(number)))
                number += 1

        pool = ray.data.ActorPoolStrategy(min_size=1, max_size=self._actors)
        # The batches of a lost actor wait until Ray has restarted it. If all cores were taken, they would wait
        # forever: half of them are kept free for that, as far as Ray knows. Half GPUs, Ray would put onto one.
        resources: dict[str, Any] = {"num_gpus": 1} if device == "cuda" else {"num_cpus": threads / 2}
        answers = (
            ray.data.from_items([0])
            .map_batches(jobs, batch_format="pyarrow", num_cpus=0, ray_remote_args_fn=lambda: here)
            .map_batches(
                _Actor,
                fn_constructor_args=(scorer,),
                batch_size=1,
                batch_format="pyarrow",
                compute=pool,
                **resources,
            )
        )
        return iter(answers.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0))

    def _receive(self) -> None:
        """Wait for some answers."""
        try:
            rows = next(self._answers).to_pylist()
        except self._ray.exceptions.RayTaskError:
            raise  # a bug of ours, which its traceback explains
        except self._ray.exceptions.RayError as error:
            cause = str(error).partition("\n")[0]
            raise PrismError(
                f"the Ray cluster failed ({cause}): run the same command again; what is cached is not lost"
            ) from error
        for row in rows:
            number = row["number"]
            if number in self._under_way:  # a batch computed twice counts once
                self._under_way.remove(number)
                self._done[number] = pickle.loads(row["content"])
                self._feed.drop.remote(number)


class Feed:
    """Batches by number, until they are answered: a reader that starts over gets the same ones."""

    def __init__(self) -> None:
        self._batches: dict[int, bytes] = {}
        self._count = 0
        self._news = asyncio.Condition()

    async def put(self, number: int, batch: bytes) -> None:
        """Add the next batch; they arrive in the order of their numbers."""
        async with self._news:
            self._batches[number] = batch
            self._count = number + 1
            self._news.notify_all()

    async def get(self, number: int) -> bytes:
        """Wait for a batch; an answered one leaves nothing to do."""
        async with self._news:
            await self._news.wait_for(lambda: number < self._count)
            return self._batches.get(number, pickle.dumps([]))

    async def drop(self, number: int) -> None:
        """Forget an answered batch."""
        self._batches.pop(number, None)


class Scorer:
    """What an actor does with a batch. The model is loaded with the first one."""

    def __init__(self, folder: Path, digest: str, config: EngineConfig, temperature: float, version: str) -> None:
        self._folder = folder
        self._digest = digest
        self._config = config
        self._temperature = temperature
        self._version = version

    @cached_property
    def engine(self) -> Engine:
        """The engine of this actor."""
        if self._version != __version__:
            raise PrismError(f"prism-mt is {__version__} there and {self._version} here: install the same")
        if not self._folder.is_dir():
            raise PrismError(f"no such folder: {self._folder}; put the model where all machines can read it")
        model = ModelDirectory(self._folder)
        if model.digest != self._digest:
            raise PrismError(f"{self._folder} is a different model there")
        return open_local(model, self._config, self._temperature)

    def answer(self, batch: bytes) -> bytes:
        """Return token scores, or an error for the driver to raise."""
        answer: list[TokenScores] | PrismError
        try:
            answer = list(score_pairs(self.engine, pickle.loads(batch), self._config.batch_tokens))
        except PrismError as error:
            answer = PrismError(f"the machine {socket.gethostname()} of the Ray cluster: {error}")
        return pickle.dumps(answer)


class _Actor:
    """The scorer as Ray Data calls it."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer

    def __call__(self, rows: Any) -> Iterator[Any]:
        for row in rows.to_pylist():
            yield _row(row["number"], self._scorer.answer(row["content"]))


def _row(number: int, content: bytes) -> Any:
    import pyarrow

    return pyarrow.table({"number": [number], "content": pyarrow.array([content], pyarrow.large_binary())})
