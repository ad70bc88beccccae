from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, describe, load_toml, make, option, option_of


@dataclass
class Part:
    weight: float = 1.0


@dataclass(frozen=True)
class Pace:
    rate: float = 0.5
    clip: float = 0.0


@dataclass
class Run:
    pace: Pace = Pace(rate=0.1)


@dataclass
class Whole:
    name: str
    size: int = 3
    kind: Literal["a", "b"] = "a"
    folder: Path | None = None
    flag: bool = False
    words: tuple[str, ...] = ()
    part: Part = field(default_factory=Part)
    parts: list[Part] = field(default_factory=list)
    shares: dict[str, float] = field(default_factory=dict)


def load(tmp_path: Path, text: str) -> Whole:
    (tmp_path / "c.toml").write_text(text)
    return load_toml(tmp_path / "c.toml", Whole)


def test_everything(tmp_path: Path) -> None:
    text = """
name = "x"
size = 5
kind = "b"
folder = "data/x"
flag = true
words = ["p", "q"]
shares = { de = 1, en = 0.5 }
[part]
weight = 2
[[parts]]
weight = 0.25
"""
    wanted = Whole("x", 5, "b", Path("data/x"), True, ("p", "q"), Part(2.0), [Part(0.25)], {"de": 1.0, "en": 0.5})
    assert load(tmp_path, text) == wanted
    assert load(tmp_path, 'name = "x"') == Whole("x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "c.toml: missing key name"),
        ('name = "x"\nnmae = 1\nzise = 2', "c.toml: unknown key nmae, zise; did you mean 'name'?"),
        ("name = 3", "c.toml: name must be of type str, not 3"),
        ('name = "x"\nsize = "big"', "size must be of type int"),
        ('name = "x"\nsize = true', "size must be of type int"),
        ('name = "x"\nsize = 1.5', "size must be of type int"),
        ('name = "x"\nkind = "c"', "kind must be one of a, b, not 'c'"),
        ('name = "x"\nwords = "p"', "words must be a list"),
        ('name = "x"\nwords = ["p", 2]', r"words\[1\] must be of type str"),
        ('name = "x"\npart = 3', "part must be a table"),
        ('name = "x"\n[part]\nwieght = 1', "part: unknown key wieght"),
        ('name = "x"\n[shares]\nde = "much"', "shares.de must be of type float"),
        ('name = "x"\n[part]\nweight = nan', "part: weight must be a finite number"),
        ('name = "x"\n[shares]\nde = -inf', "shares.de must be a finite number"),
        (f'name = "x"\n[part]\nweight = 1{"0" * 400}', "part: weight must be a finite number"),
        ("name = ", "is not valid TOML"),
    ],
)
def test_mistakes_name_the_key(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(PrismError, match=message):
        load(tmp_path, text)


def test_a_table_changes_parts_of_a_default(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("[pace]\nclip = 1.2")
    assert load_toml(tmp_path / "c.toml", Run).pace == Pace(rate=0.1, clip=1.2)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(PrismError, match="cannot read .*none.toml"):
        load_toml(tmp_path / "none.toml", Whole)


def test_an_option_of_another_config_keeps_its_help_and_limits() -> None:
    @dataclass(frozen=True)
    class Search(Config):
        beam: int = option("hypotheses kept at each step", 5, low=1, flags=("-b",))

    @dataclass(frozen=True)
    class Wider(Config):
        beam: int = option_of(Search, "beam", 50)
        also: int = option_of(Search, "beam")

    assert (Wider().beam, Wider().also) == (50, 5)
    assert describe(Wider)[0].help == "hypotheses kept at each step"
    with pytest.raises(PrismError, match="beam must be at least 1, not 0"):
        Wider(beam=0)


def test_a_string_in_the_place_of_a_path() -> None:
    @dataclass(frozen=True)
    class Files(Config):
        folder: Path = option("some folder")
        other: Path | None = option("another", None)

    assert Files("a/b", "c") == Files(Path("a/b"), Path("c"))  # type: ignore[arg-type]
    with pytest.raises(PrismError, match="folder must be of type Path, not 3"):
        Files(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["weight = " + "[" * 5000, "weight = " + "9" * 5000, "\x00", "a" * 10, "\x1b = 1"]
)
def test_hostile_toml(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.toml").write_text(text, encoding="utf-8")
    with pytest.raises(PrismError, match="is not valid TOML"):
        load_toml(tmp_path / "x.toml", Part)


def test_a_missing_value_is_named() -> None:
    with pytest.raises(PrismError, match="whole needs `name=`"):
        make(Whole, {"size": 2}, "whole")
