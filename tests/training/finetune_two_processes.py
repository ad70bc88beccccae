"""One of two processes of fine-tuning: trains to the end and saves the weights it has then."""

import sys
from pathlib import Path

import torch

from prism_mt.training.distributed import join_world, leave_world
from prism_mt.training.finetune import Finetuner

folder = Path(sys.argv[1])
world = join_world("cpu")
tuner = Finetuner(torch.load(folder / "config.pt", weights_only=False), world)
tuner.run()
torch.save(dict(tuner.objective.state_dict()), folder / f"weights-{world.rank}.pt")
leave_world(world)
