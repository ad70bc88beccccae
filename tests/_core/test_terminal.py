import logging

import pytest

from prism_mt._core.terminal import PrintableFormatter, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[2Jb", r"a\x1b[2Jb"),
        ("do not trust\rall is well", r"do not trust\rall is well"),
        ("a\nb\tc", r"a\nb\tc"),
        ("\x9b2J\x7f\0", r"\x9b2J\x7f\x00"),
        ("\u202egpj.exe\u2066\u2028", r"\u202egpj.exe\u2066\u2028"),
        ("\ud800", r"\ud800"),
        ("żółć 世界 👩‍👩‍👧 עברית", "żółć 世界 👩‍👩‍👧 עברית"),
    ],
)
def test_what_would_move_the_cursor_is_shown(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_log_lines() -> None:
    record = logging.LogRecord("a", logging.WARNING, "b", 1, "%s is damaged", ("x\r\x1b[1A",), None)
    assert PrintableFormatter("%(name)s: %(message)s").format(record) == r"a: x\r\x1b[1A is damaged"
    try:
        raise ValueError("a\rb")
    except ValueError as error:
        record.exc_info = (type(error), error, error.__traceback__)
    assert "Traceback" in PrintableFormatter().format(record).split("\n")[1]
