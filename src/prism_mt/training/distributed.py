"""Single-process and distributed training: torchrun's environment and sums over processes."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn

from prism_mt._core.errors import PrismError

_BUCKET = 8_000_000
"""Numbers per message."""


@dataclass(frozen=True)
class World:
    """This process among all processes of a run."""

    rank: int
    size: int
    device: torch.device

    @property
    def first(self) -> bool:
        """Whether this process writes files and messages."""
        return self.rank == 0

    def sums(self, values: Sequence[float]) -> list[float]:
        """Sum each value over all processes, with the same bits in each of them."""
        if self.size == 1:
            return list(values)
        # NCCL only takes tensors on the device, gloo takes both.
        tensor = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(tensor)
        return [float(value) for value in tensor.tolist()]

    def wait(self) -> None:
        """Wait until every process is here."""
        if self.size > 1:
            self.sums([0.0])


def join_world(device: str) -> World:
    """Join the processes started by torchrun, or run alone."""
    cuda = device == "cuda" or (device == "auto" and torch.cuda.is_available())
    if cuda and not torch.cuda.is_available():
        raise PrismError("torch finds no usable GPU on this machine: set device to cpu or auto")
    size = int(os.environ.get("WORLD_SIZE", "1"))
    rank = int(os.environ.get("RANK", "0"))
    local = int(os.environ.get("LOCAL_RANK", "0"))
    here = torch.device("cuda", local) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(here)
    if size > 1 and not dist.is_initialized():
        dist.init_process_group("nccl" if cuda else "gloo")
    return World(rank, size, here)


def share_weights(module: nn.Module, world: World) -> None:
    """Give every process the first one's trained weights; frozen ones are read from the same files everywhere."""
    if world.size > 1:
        for parameter in module.parameters():
            if parameter.requires_grad:
                dist.broadcast(parameter.data, 0)


def sum_gradients(module: nn.Module, world: World) -> None:
    """Sum gradients over processes; one with nothing to do in this step contributes zeros."""
    if world.size == 1:
        return
    waiting: list[nn.Parameter] = []
    size = 0
    for parameter in module.parameters():
        if not parameter.requires_grad:
            continue
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        waiting.append(parameter)
        size += parameter.numel()
        if size >= _BUCKET:
            _sum_bucket(waiting)
            waiting, size = [], 0
    _sum_bucket(waiting)


def _sum_bucket(parameters: Sequence[nn.Parameter]) -> None:
    """Sum several gradients in one message: many small ones would take longer."""
    if not parameters:
        return
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    dist.all_reduce(flat)
    parts = torch.split(flat, [gradient.numel() for gradient in gradients])
    for gradient, summed in zip(gradients, parts, strict=True):
        gradient.copy_(summed.view_as(gradient))


def leave_world(world: World) -> None:
    """Shut down communication between processes."""
    if world.size > 1 and dist.is_initialized():
        dist.destroy_process_group()
