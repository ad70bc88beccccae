"""Hashes that are the same in every process and on every machine, and a compact set of them."""

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]


def hash64(text: str) -> int:
    """64 bits of BLAKE2 of a text (Python's own `hash` differs between processes)."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def fraction(*parts: object) -> float:
    """A pseudo-random number in [0, 1) that depends only on the parts."""
    return hash64("\x1f".join(map(str, parts))) / 2.0**64


def sentence_key(text: str) -> int:
    """Hash the letters and digits of a sentence; case, spaces and punctuation do not count."""
    letters = "".join(filter(str.isalnum, text.casefold()))
    return hash64(letters or text)


class HashSet:
    """A growing set of 64-bit hashes in sorted arrays: 8 bytes per entry where a Python set takes about 60."""

    def __init__(self) -> None:
        self._runs: list[Hashes] = []

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def contains(self, hashes: Hashes) -> npt.NDArray[np.bool_]:
        """Which of the hashes are in the set."""
        found = np.zeros(len(hashes), dtype=bool)
        for run in self._runs:
            places = np.minimum(np.searchsorted(run, hashes), len(run) - 1)
            found |= run[places] == hashes
        return found

    def add(self, hashes: Hashes) -> None:
        """Add hashes that are not in the set yet (as `contains` told the caller)."""
        if not len(hashes):
            return
        self._runs.append(np.unique(hashes))
        # Merge while the newest run is not clearly smaller: few runs to search, each hash moved few times.
        while len(self._runs) > 1 and 2 * len(self._runs[-1]) >= len(self._runs[-2]):
            last = self._runs.pop()
            self._runs[-1] = np.union1d(self._runs[-1], last)
