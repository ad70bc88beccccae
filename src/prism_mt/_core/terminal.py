"""Text that is safe to print, and standard streams that can be relied upon."""

import io
import logging
import os
import re
import sys

# Control characters, characters that reverse the direction of text, line separators and halves of surrogate pairs.
_HARMFUL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def printable(text: str) -> str:
    """Escape what would move the cursor, change the terminal or hide other text, so that it shows on one line."""
    return _HARMFUL.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return _SHORT.get(match[0]) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


class PrintableFormatter(logging.Formatter):
    """Formats log records on one line each, whatever names and reports of other libraries are in them."""

    def format(self, record: logging.LogRecord) -> str:
        """Escape the message; a traceback below it keeps its lines."""
        message, *rest = super().format(record).split("\nTraceback", 1)
        return "\nTraceback".join([printable(message), *rest])


def prepare_streams() -> None:
    """Make standard output UTF-8, as all text that is read, and replace streams that were closed by the caller.

    A file that is opened later must not get the number of a closed stream: libraries that print would write into it.
    """
    for number, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # takes the lowest number; results must not vanish, so writing to 1 fails
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        if sys.stdout.isatty():
            sys.stdout.reconfigure(errors="backslashreplace")  # for terminals that lack a character of ours
        else:
            sys.stdout.reconfigure(encoding="utf-8")
