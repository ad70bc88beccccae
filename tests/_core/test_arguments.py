import argparse
import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import pytest

from prism_mt._core.arguments import Parser, add_options, parse_options
from prism_mt._core.errors import PrismError
from prism_mt._core.options import option


@dataclass
class Sample:
    name: str = option("what it is called", positional=True)
    files: list[Path] = option("some files", [], metavar="FILE")
    kind: Literal["a", "b"] = option("which kind", "a")
    size: int | None = option("how big, 100 % or less", None, flags=("-s",))
    check: bool = option("look twice", True)
    loud: bool = option("shout", False, flags=("--noisy",))
    models: list[str] = option("which models", ["mini", "big"])
    lang: str = option("which language", "")


def parse(*words: str) -> Sample:
    parser = Parser(prog="tool")
    add_options(parser, [Sample])
    return parse_options(Sample, parser.parse_args(words))


def test_defaults_and_values() -> None:
    assert parse("x") == Sample("x")
    words = ["x", "--files", "p", "q", "--files", "r", "--kind", "b", "-s", "3", "--no-check", "--noisy"]
    assert parse(*words) == Sample("x", [Path("p"), Path("q"), Path("r")], "b", 3, False, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "the following arguments are required: name"),
        (["x", "--kind", "c"], "--kind: invalid choice 'c'; choose one of a, b"),
        (["x", "--size", "big"], "--size/-s: invalid int value: 'big'"),
        (["x", "--flies", "y"], "tool has no option --flies; did you mean '--files'?"),
        (["x", "--unknown=3"], "tool has no option --unknown"),
        (["x", "y"], "tool has no argument y"),
    ],
)
def test_mistakes_are_a_sentence_without_usage(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(PrismError) as raised:
        parse(*words)
    assert str(raised.value) == f"{message} (see `tool --help`)"
    assert capsys.readouterr() == ("", "")


def test_help_teaches() -> None:
    parser = argparse.ArgumentParser()
    add_options(parser, [Sample])
    text = parser.format_help()
    for part in ("which kind (default: a)", "--kind {a,b}", "100 % or less", "--no-check"):
        assert part in text
    assert "which models (default: mini big)" in text
    assert "which language\n" in text
    assert re.search("--size(?: SIZE)?, -s SIZE", text)  # Python 3.13 names the value once


def test_dataclasses_with_a_title_have_their_own_heading() -> None:
    @dataclass(kw_only=True)
    class Shared:
        TITLE: ClassVar[str] = "engine options"
        device: str = option("on what", "cpu")

    @dataclass(kw_only=True)
    class Own:
        beam: int = option("how many", 5, group="search")
        last: int = option("without a group", 0)

    parser = argparse.ArgumentParser()
    add_options(parser, [Own, Shared])
    text = parser.format_help().partition("options:")[2]
    places = [text.index(part) for part in ("--last", "search:", "--beam", "engine options:", "--device")]
    assert places == sorted(places)
    assert parse_options(Shared, parser.parse_args(["--device", "cuda"])).device == "cuda"
