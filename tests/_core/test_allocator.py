"""Memory that was freed stays with the process, for the next batch, until it is to be given back."""

import platform
import subprocess
import sys

import pytest

MEGABYTE = 2**20
PROGRAM = f"""
import resource
import numpy
from prism_mt._core.allocator import keep_freed_memory
if {{keeps}}:
    keep_freed_memory()
numpy.ones(64 * {MEGABYTE}, numpy.int8)
with open("/proc/self/statm") as handle:
    print(int(handle.read().split()[1]) * resource.getpagesize())
"""

IN_PIECES = f"""
import resource
import numpy
from prism_mt._core.allocator import keep_freed_memory, release_freed_memory
keep_freed_memory()
blocks = [numpy.ones({MEGABYTE}, numpy.int8) for _ in range(128)]
del blocks[::2], blocks[::2]  # every fourth block stays
if {{releases}}:
    release_freed_memory()
with open("/proc/self/statm") as handle:
    print(int(handle.read().split()[1]) * resource.getpagesize())
assert all(block.all() for block in blocks)
"""


def resident_bytes(program: str, **options: bool) -> int:
    words = [sys.executable, "-c", program.format(**options)]
    return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc")
def test_a_large_block_is_not_given_back() -> None:
    assert resident_bytes(PROGRAM, keeps=True) - resident_bytes(PROGRAM, keeps=False) > 50 * MEGABYTE


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a function of glibc")
def test_freed_blocks_between_others_are_given_back() -> None:
    held, released = (resident_bytes(IN_PIECES, releases=releases) for releases in (False, True))
    assert held - released > 90 * MEGABYTE
