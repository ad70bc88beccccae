"""Reuse freed memory across batches."""

import ctypes
import sys

# Parameters of mallopt in glibc's <malloc.h>, and the largest mmap threshold that its older versions accept.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGE, _LARGEST_OF_OLD = 2**30, 2**25


def keep_freed_memory() -> None:
    """Stop the C library from returning freed activations to the system, which would zero the pages again.

    Otherwise a small model loses up to a fifth of its CPU time. The setting affects the whole process, so the command
    makes it and the library does not; it does nothing outside Linux.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None and (mallopt(_MMAP_THRESHOLD, _LARGE) or mallopt(_MMAP_THRESHOLD, _LARGEST_OF_OLD)):
        mallopt(_TRIM_THRESHOLD, _LARGE)


def return_freed_memory() -> None:
    """Return memory that is free now to the system: after work that is not done again, such as converting a model."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform.startswith("linux") else None
    if trim is not None:
        trim(0)
