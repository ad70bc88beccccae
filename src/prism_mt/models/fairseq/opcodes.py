"""A look at the instructions of a pickle before they are carried out.

The unpickler follows every instruction that it can, and some cost far more than the bytes they take: a memo index
makes it reserve that many places, hashing a tuple of tuples follows every path through it, and a chain of millions
of tuples overflows the stack of whatever walks along it. Here the instructions move sizes instead of values.
"""

import pickletools
from collections.abc import Sequence
from typing import IO, NamedTuple

_INSTRUCTIONS = 3_000_000
_DEPTH = 200
_ITEMS = 10_000_000
"""Values in one value, each counted as often as it is reached; a real checkpoint has some ten thousand."""

_PUT = ("PUT", "BINPUT", "LONG_BINPUT")
_GET = ("GET", "BINGET", "LONG_BINGET")
_FILL = ("APPEND", "APPENDS", "SETITEM", "SETITEMS", "ADDITEMS", "BUILD")
"""Instructions that put values into the one below them."""


class Hostile(ValueError):
    """A pickle that no checkpoint needs and that would cost too much to read."""


class _Value(NamedTuple):
    """What is known of a value: how deeply it is nested (0: it has no parts) and how many values are in it."""

    depth: int = 0
    items: int = 1


_Stack = list[_Value | None]
"""None is a mark."""


def check_pickle(file: IO[bytes]) -> None:
    """Fail where the next pickle of the file is out of proportion; the file ends up where it was."""
    start = file.tell()
    stack: _Stack = []
    memo: dict[int, _Value] = {}
    for count, (opcode, argument, _) in enumerate(pickletools.genops(file)):
        if count > _INSTRUCTIONS:
            raise Hostile(f"it has more than {_INSTRUCTIONS:,} instructions")
        _step(opcode, argument, count, stack, memo)
    file.seek(start)


def _step(
    opcode: pickletools.OpcodeInfo, argument: object, count: int, stack: _Stack, memo: dict[int, _Value]
) -> None:
    name = opcode.name
    if name in _PUT or name == "MEMOIZE":
        index = len(memo) if name == "MEMOIZE" else argument
        if not isinstance(index, int) or not 0 <= index <= count:
            raise Hostile(f"it numbers a value {index} after {count} instructions")
        memo[index] = _top(stack)
    elif name in _GET:
        stack.append(memo[argument] if isinstance(argument, int) and argument in memo else _Value())
    elif name == "MARK":
        stack.append(None)
    elif name == "DUP":
        stack.append(_top(stack))
    elif name == "POP":
        if stack:
            stack.pop()
    else:
        taken = _take(opcode, stack)
        _check_keys(name, taken)
        if opcode.stack_after:
            filled = taken[0] if name in _FILL and taken else _Value()
            stack.append(_around(filled, taken[1:] if name in _FILL else taken))


def _top(stack: _Stack) -> _Value:
    return (stack[-1] if stack else None) or _Value()


def _take(opcode: pickletools.OpcodeInfo, stack: _Stack) -> list[_Value]:
    """Pop what the instruction works on."""
    taken: list[_Value] = []
    wanted = len(opcode.stack_before)
    if pickletools.markobject in opcode.stack_before:
        while stack and (value := stack.pop()) is not None:
            taken.append(value)
        wanted = opcode.stack_before.index(pickletools.markobject)
    for _ in range(wanted):
        taken.append((stack.pop() if stack else None) or _Value())
    return taken[::-1]


def _check_keys(name: str, taken: Sequence[_Value]) -> None:
    """Keys of dictionaries and members of sets are hashed: texts and numbers are, once and quickly."""
    keys: Sequence[_Value] = ()
    if name in ("SETITEM", "SETITEMS"):
        keys = taken[1::2]
    elif name == "DICT":
        keys = taken[::2]
    elif name == "ADDITEMS":
        keys = taken[1:]
    elif name == "FROZENSET":
        keys = taken
    if any(key.depth for key in keys):
        raise Hostile("it has a key that is neither a text nor a number")


def _around(filled: _Value, parts: Sequence[_Value]) -> _Value:
    """A value after parts were put into it."""
    deepest = max((part.depth + 1 for part in parts), default=0)
    value = _Value(max(filled.depth, deepest), filled.items + sum(part.items for part in parts))
    if value.depth > _DEPTH:
        raise Hostile(f"its values are nested more than {_DEPTH} deep")
    if value.items > _ITEMS:
        raise Hostile(f"one of its values has more than {_ITEMS:,} parts")
    return value
