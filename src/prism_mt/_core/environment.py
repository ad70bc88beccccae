"""Cache directory and CPU count."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder for scores, converted models and downloads: `PRISM_CACHE`, or the user's cache."""
    if chosen := os.environ.get("PRISM_CACHE"):
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_cache_dir("prism-mt"))


def available_cores() -> int:
    """Count the cores that this process may use, in a container often fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
