"""One of two processes of a run: saves the gradients of its first step, then trains to the end."""

import sys
from pathlib import Path

import torch

from prism_mt.training.distributed import join_world, leave_world
from prism_mt.training.trainer import Trainer

folder = Path(sys.argv[1])
world = join_world("cpu")
trainer = Trainer(torch.load(folder / "config.pt", weights_only=False), world)
stream = trainer.stream.batches(trainer.progress.position)
plans = [next(stream)[0] for _ in range(2)]
trainer.gradients([plans[world.rank]], sum(plan.predicted for plan in plans))
found = [parameter.grad for parameter in trainer.objective.parameters()]
torch.save(found, folder / f"gradients-{world.rank}.pt")
trainer.run()
leave_world(world)
