"""Cache directory, CPU count and what the processor can do."""

import errno
import os
import sys
from functools import lru_cache
from pathlib import Path


def cache_folder() -> Path:
    """Return the directory for scores, converted models and downloads: `PRISM_CACHE`, or the user's cache directory."""
    if chosen := os.environ.get("PRISM_CACHE"):
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_cache_dir("prism-mt"))


def make_cache_folder(folder: Path) -> None:
    """Create a cache directory that only the user can read, since its file names and entries reveal their texts.

    An existing directory keeps its permissions: a group may have decided to share it.
    """
    for missing in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))


def available_cores() -> int:
    """Count the cores available to this process; in a container often fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def peak_memory() -> int | None:
    """Return the most bytes that this process has held in memory so far; None where the system does not tell."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def has_bfloat16() -> bool:
    """Whether this processor multiplies in bfloat16 by instructions of its own, as far as Linux tells."""
    return any(flag in _processor() for flag in ("avx512_bf16", "amx_bf16"))


def has_int8() -> bool:
    """Whether this processor adds up 8-bit products in 32 bits by instructions of its own, as far as Linux tells."""
    return any(flag in _processor() for flag in ("avx512_vnni", "avx_vnni", "amx_int8"))


def overflows_in_8_bits() -> bool:
    """Whether sums of 8-bit products overflow, as far as Linux tells: without VNNI, x86 adds them in 16 bits."""
    return any(line.startswith("flags") for line in _processor().splitlines()) and not has_int8()


def is_amd() -> bool:
    """Whether this processor is AMD's, as far as Linux tells."""
    return "AuthenticAMD" in _processor()


@lru_cache(maxsize=1)
def _processor() -> str:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
