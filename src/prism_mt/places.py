"""What the machine offers: a place for what can be made again, and cores."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """The folder of converted models and downloads: `PRISM_CACHE`, or the user's cache."""
    if chosen := os.environ.get("PRISM_CACHE"):
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_cache_dir("prism-mt"))


def available_cores() -> int:
    """How many cores this process may use, which in a container is often fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
