"""Memory that was freed stays with the process, for the next batch."""

import platform
import subprocess
import sys

import pytest

MEGABYTE = 2**20
PROGRAM = f"""
import resource
import numpy
from prism_mt._core.allocator import keep_freed_memory, return_freed_memory
if {{keeps}}:
    keep_freed_memory()
numpy.ones(64 * {MEGABYTE}, numpy.int8)
if {{returns}}:
    return_freed_memory()
with open("/proc/self/statm") as handle:
    print(int(handle.read().split()[1]) * resource.getpagesize())
"""


def resident_bytes(keeps: bool, returns: bool = False) -> int:
    program = [sys.executable, "-c", PROGRAM.format(keeps=keeps, returns=returns)]
    return int(subprocess.run(program, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc")
def test_a_large_block_is_not_given_back() -> None:
    assert resident_bytes(True) - resident_bytes(False) > 50 * MEGABYTE


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc")
def test_a_large_block_is_given_back_on_request() -> None:
    assert resident_bytes(True) - resident_bytes(True, returns=True) > 50 * MEGABYTE
