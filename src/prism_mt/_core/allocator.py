"""Keep the memory of one batch for the next."""

import ctypes
import sys

# Parameters of mallopt in glibc's <malloc.h>, and the highest mmap threshold of its older versions.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGE, _LARGEST_OF_OLD = 2**30, 2**25


def keep_freed_memory() -> None:
    """Stop the C library from giving freed activations back to the system, which would clear them page by page again.

    Up to a fifth of the time of a small model on a processor is lost to that. It concerns the whole process, so only
    the command does it, not the library; elsewhere than on Linux nothing is done.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None and (mallopt(_MMAP_THRESHOLD, _LARGE) or mallopt(_MMAP_THRESHOLD, _LARGEST_OF_OLD)):
        mallopt(_TRIM_THRESHOLD, _LARGE)
