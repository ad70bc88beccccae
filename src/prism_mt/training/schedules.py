"""Learning-rate schedules."""

import math

from prism_mt.training.config import Schedule


def learning_rate(schedule: Schedule, peak: float, step: int, steps: int, plateaus: int = 0) -> float:
    """Rate of update number `step` (from 1) in a run of `steps` updates (0: open-ended).

    `plateaus` is the number of validations so far without improvement.
    """
    if step <= schedule.warmup:
        return peak * step / schedule.warmup
    floor = schedule.final
    if schedule.kind in ("linear", "cosine"):
        progress = min(1.0, (step - schedule.warmup) / max(1, steps - schedule.warmup))
        falling = 1 - progress if schedule.kind == "linear" else (1 + math.cos(math.pi * progress)) / 2
        return peak * (floor + (1 - floor) * falling)
    rate = peak * 0.5**plateaus if schedule.kind == "plateau" else peak
    if schedule.kind == "inverse-sqrt":
        rate *= math.sqrt(max(1, schedule.warmup) / step)
    if schedule.decay > 0:
        left = max(0.0, (steps - step) / (steps * schedule.decay))
        rate *= floor + (1 - floor) * min(1.0, left)
    return rate
