"""Ways to damage a file: by bytes whatever it is, by value where it is JSON, from parts where it is text."""

import copy
import json
import random
from typing import Any

RUBBISH = (
    *(b"\n", b"\r\n", b"\r", b"\t", b" ", b"\0", b"\xef\xbb\xbf", b"\xff", b"\xe2\x80\xa8", b"\xc2\x85", b"\x0b"),
    *(b"#", b'"', b"\\", b"{", b"}", b"[", b"]", b":", b",", b"null", b"1e999", b"NaN", b"-", b"9" * 5000),
    *(
        b"x" * 70_000,
        b"\xed\xa0\x80",
        b"\\ud800",
        b"[" * 3000,
        b"0",
        b"\xf0\x9f\x98\x80",
        b"\x1b[2J",
        b"\xc2\x9b2J",
    ),
    *(b"9" * 400, b"true", b"[1]", b'{"A": [1]}', b"\xe2\x80\xae", b"\xff\xff\xff\x7f", b"\x80\x02", b"../../x"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 3, 1.5, -1e308, float("nan"), float("inf"), 2**31, 2**63, 10**30, 10**5000),
    *(
        "",
        "x",
        "\x1b[2J\r",
        "\u202e",
        "\ud800",
        "hf:evil/evil",
        "/etc/passwd",
        "../x",
        "~nosuchuser/x",
        "a\0b",
        "9" * 400,
    ),
    *([], [1], ["x"], {}, {"x": 1}, [[[[]]]], {"auto_map": {"AutoModel": "evil.Evil"}}),
)


def damage(data: bytes, chance: random.Random) -> bytes:
    """Damage bytes once, or a few times."""
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        data = chance.choice((_flip, _cut, _zero, _insert, _double, _swap, _replace))(data, chance)
    return data


def damage_json(data: bytes, chance: random.Random) -> bytes:
    """Replace, remove or add values of a JSON document; what is not JSON is damaged as bytes."""
    try:
        document = json.loads(data)
    except ValueError:
        return damage(data, chance)
    for _ in range(chance.choice((1, 1, 2))):
        document = _change(document, chance)
    return _dump(document)


def assemble(parts: tuple[bytes, ...], chance: random.Random) -> bytes:
    """Make a text of valid parts and rubbish."""
    return b"".join(
        chance.choice(parts if chance.random() < 0.7 else RUBBISH) for _ in range(chance.randint(0, 12))
    )


def _change(node: Any, chance: random.Random) -> Any:
    places: list[Any] = (
        list(node) if isinstance(node, dict) else list(range(len(node))) if isinstance(node, list) else []
    )
    if not places or chance.random() < 0.1:
        return copy.deepcopy(chance.choice(VALUES))
    place = chance.choice(places)
    if isinstance(node[place], dict | list) and node[place] and chance.random() < 0.8:
        node[place] = _change(node[place], chance)
    elif chance.random() < 0.2:
        del node[place]
    elif isinstance(node, dict) and chance.random() < 0.1:
        node[chance.choice(("x", "\x1b]0;evil\x07", "\ud800", ""))] = copy.deepcopy(chance.choice(VALUES))
    else:
        node[place] = copy.deepcopy(chance.choice(VALUES))
    return node


def _dump(document: Any) -> bytes:
    import sys

    limit = sys.get_int_max_str_digits() if hasattr(sys, "get_int_max_str_digits") else 0
    if limit:
        sys.set_int_max_str_digits(0)
    try:
        return json.dumps(document).encode()
    finally:
        if limit:
            sys.set_int_max_str_digits(limit)


def _flip(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 8)) if data else 0):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _zero(data: bytes, chance: random.Random) -> bytes:
    start, size = chance.randrange(len(data) + 1), chance.choice((1, 4, 64, 4096))
    return data[:start] + bytes(len(data[start : start + size])) + data[start + size :]


def _insert(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data) + 1)
    return data[:place] + chance.choice(RUBBISH) + data[place:]


def _double(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data) + 1)
    return data[:start] + data[start : start + 256] * chance.choice((2, 50)) + data[start + 256 :]


def _swap(data: bytes, chance: random.Random) -> bytes:
    middle = chance.randrange(len(data) + 1)
    return data[middle:] + data[:middle]


def _replace(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data) + 1)
    rubbish = chance.choice(RUBBISH)
    return data[:place] + rubbish + data[place + len(rubbish) :]
