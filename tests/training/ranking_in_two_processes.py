"""One of two processes of fine-tuning: trains to the end and saves the weights it has then."""

import sys
from pathlib import Path

import torch

from prism_mt.training.distributed import join_world, leave_world
from prism_mt.training.loop import Loop
from prism_mt.training.ranking.objective import RankingObjective

folder = Path(sys.argv[1])
world = join_world("cpu")
config = torch.load(folder / "config.pt", weights_only=False)
loop = Loop(RankingObjective(config, world), config, world)
loop.run()
torch.save(loop.objective.weights(), folder / f"weights-{world.rank}.pt")
leave_world(world)
