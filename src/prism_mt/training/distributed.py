"""One process or many: what torchrun's environment says, and the few sums that processes share."""

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from prism_mt._core.errors import PrismError


@dataclass(frozen=True)
class World:
    """This process among all of a run."""

    rank: int
    size: int
    device: torch.device

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes files and messages."""
        return self.rank == 0

    def sums(self, values: Sequence[float]) -> list[float]:
        """Each value summed over all processes, the same bits in each of them."""
        if self.size == 1:
            return list(values)
        # NCCL takes tensors on the device only, gloo takes both.
        tensor = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(tensor)
        return [float(value) for value in tensor.tolist()]

    def wait(self) -> None:
        """Until every process is here."""
        if self.size > 1:
            self.sums([0.0])


def join_world(device: str) -> World:
    """Join the processes that torchrun started, or stand alone."""
    cuda = device == "cuda" or (device == "auto" and torch.cuda.is_available())
    if cuda and not torch.cuda.is_available():
        raise PrismError("there is no GPU that torch can use on this machine: set device to cpu or auto")
    size = int(os.environ.get("WORLD_SIZE", "1"))
    rank = int(os.environ.get("RANK", "0"))
    local = int(os.environ.get("LOCAL_RANK", "0"))
    here = torch.device("cuda", local) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(here)
    if size > 1 and not dist.is_initialized():
        dist.init_process_group("nccl" if cuda else "gloo")
    return World(rank, size, here)


def distribute(module: nn.Module) -> DistributedDataParallel:
    """Have the gradients of all processes averaged at the end of each backward pass."""
    with warnings.catch_warnings():
        # The newest torch has another name for this option, which older ones do not know.
        warnings.simplefilter("ignore", FutureWarning)
        return DistributedDataParallel(module, broadcast_buffers=False)


def leave_world(world: World) -> None:
    """End the communication of processes."""
    if world.size > 1 and dist.is_initialized():
        dist.destroy_process_group()
