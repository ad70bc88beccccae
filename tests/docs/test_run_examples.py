"""The examples of the README and of the site run, and print what the pages say where that is the same everywhere."""

import difflib
from pathlib import Path

import pytest
from run_examples import ROOT, blocks, pages, rewrite, run


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if "prism train" in text or "metric train" in text:
        pytest.importorskip("torch")
    for block, printed in run(text):
        if block.mark == "run: same output":
            wanted = block.body.splitlines()
            found = [
                line.rstrip()
                for command, output in zip(block.commands(), printed, strict=True)
                for line in [*f"$ {command}".replace("\n", "\n> ").splitlines(), *output.splitlines()]
            ]
            assert found == wanted, "\n".join(difflib.unified_diff(wanted, found, "page", "now", lineterm=""))
        elif block.language == "console":
            assert all(output.strip() for output in printed)


def test_blocks_are_found() -> None:
    text = "<!-- run -->\n```console\n$ echo a \\\n>   b\na b\n$ echo c\nc\n```\n\n```sh\nfalse\n```\n"
    [block] = blocks(text)
    assert block.commands() == ["echo a \\\n  b", "echo c"]


def test_output_is_put_into_the_page() -> None:
    text = (
        "<!-- run -->\n```console\n$ echo new\nold\n```\n"
        "<!-- run -->\n```python\nprint(6 * 7)\n```\n"
        "<!-- output -->\n```text\n41\n```\n"
    )
    assert rewrite(text) == text.replace("old", "new").replace("41", "42")


def test_a_failing_example_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="code 3"):
        run("<!-- run -->\n```sh\nexit 3\n```\n")


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs" / "tour.md"], ids=lambda page: page.name)
def test_tours_have_examples(page: Path) -> None:
    assert len(blocks(page.read_text(encoding="utf-8"))) >= 2
