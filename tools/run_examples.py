"""Run the examples of Markdown pages, and put what they print into the pages.

A fenced block after the line `<!-- run -->` is an example: `sh` is a script, `console` has commands after `$ ` with
what they print below, `python` is a program of its own. What a program prints may stand in a `text` block after the
line `<!-- output -->`. After `<!-- run: same output -->` the output of a `console` block must be what the page says,
as long as it does not depend on a model or a machine. All examples of a page run in one shell, in a copy of
`examples/`.

    python tools/run_examples.py docs/tour.md …     runs them and rewrites the pages
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(
    r"^<!-- (?P<mark>run|run: same output|output) -->\n```(?P<language>\w+)[^\n]*\n(?P<body>.*?)^```$", re.M | re.S
)
_MARK = "\x1e"


@dataclass(frozen=True)
class Block:
    """A marked block of a page."""

    mark: str
    language: str
    body: str
    span: tuple[int, int]
    """Where the body stands in the page."""

    def commands(self) -> list[str]:
        """Return what to run, in order; a console block has several commands, each perhaps of several lines."""
        if self.mark == "output":
            return []
        if self.language != "console":
            return [self.body]
        found: list[str] = []
        for line in self.body.splitlines():
            if line.startswith("$ "):
                found.append(line[2:])
            elif line.startswith("> ") and found:
                found[-1] += f"\n{line[2:]}"
        return found


def blocks(text: str) -> list[Block]:
    """Find the marked blocks of a page."""
    return [Block(one["mark"], one["language"], one["body"], one.span("body")) for one in _BLOCK.finditer(text)]


def pages() -> list[Path]:
    """List the pages with examples."""
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in files if blocks(path.read_text(encoding="utf-8"))]


def run(text: str, python: str | None = None) -> list[tuple[Block, list[str]]]:
    """Run the examples of a page; return what each command of each block printed.

    `python` is that of an environment in which the package is installed; otherwise the sources of this checkout run.
    """
    found = blocks(text)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        shutil.copytree(ROOT / "examples", folder / "examples")
        output = iter(_run_script("".join(_script(found, folder)), folder, python))
    return [(block, [next(output) for _ in block.commands()]) for block in found]


def _script(found: list[Block], folder: Path) -> Iterator[str]:
    yield "set -e -o pipefail\n"
    for number, block in enumerate(found):
        for command in block.commands():
            if block.language == "python":
                program = folder / f"block{number}.py"
                program.write_text(command, encoding="utf-8")
                command = f"python {program}"
            yield f"printf '{_MARK}'\n{command.rstrip()}\n"


def _run_script(script: str, folder: Path, python: str | None) -> list[str]:
    binaries = folder / "bin"
    binaries.mkdir()
    for name, arguments in (("prism", "-m prism_mt "), ("pip", "-m pip "), ("python", "")):
        (binaries / name).write_text(f'#!/bin/sh\nexec "{python or sys.executable}" {arguments}"$@"\n')
        (binaries / name).chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": "" if python else os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
        "PRISM_CACHE": str(folder / "cache"),
    }
    done = subprocess.run(
        ["bash"],
        input=script,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    printed = done.stdout.split(_MARK)[1:]
    if done.returncode:
        raise RuntimeError(
            f"an example ended with code {done.returncode}:\n{printed[-1] if printed else done.stdout}"
        )
    return [text.replace(str(folder), ".") for text in printed]


def rewrite(text: str) -> str:
    """Return a page with what its examples print now."""
    changes = []
    printed = ""
    for block, outputs in run(text):
        if block.language == "console":
            body = "".join(
                f"$ {command}\n".replace("\n", "\n> ", command.count("\n")) + _clean(output)
                for command, output in zip(block.commands(), outputs, strict=True)
            )
            changes.append((block.span, body))
        elif block.mark == "output":
            changes.append((block.span, _clean(printed)))
        printed = "".join(outputs) or printed
    for (start, end), body in reversed(changes):
        text = text[:start] + body + text[end:]
    return text


def _clean(output: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in output.splitlines())


if __name__ == "__main__":
    for path in [Path(word) for word in sys.argv[1:]] or pages():
        page = path.read_text(encoding="utf-8")
        path.write_text(rewrite(page), encoding="utf-8")
        print(path)
