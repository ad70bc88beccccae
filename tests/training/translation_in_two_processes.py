"""One of two processes of a run: saves the gradients of its first step, then trains to the end."""

import sys
from pathlib import Path

import torch

from prism_mt.training.distributed import join_world, leave_world
from prism_mt.training.loop import Loop
from prism_mt.training.translation.objective import TranslationObjective

folder = Path(sys.argv[1])
world = join_world("cpu")
config = torch.load(folder / "config.pt", weights_only=False)
loop = Loop(TranslationObjective(config, world), config, world)
loop.gradients(next(loop.objective.updates((), world.size)))
found = [parameter.grad for parameter in loop.objective.module.parameters()]
torch.save(found, folder / f"gradients-{world.rank}.pt")
loop.run()
leave_world(world)
