"""The page as a file: complete, escaped, small."""

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from made_page import EVIL, make_page

from prism_mt.comparison.buckets import by_name
from prism_mt.report.flags import EMPTY, FOREIGN, REPEATED, flag
from prism_mt.report.page import render_page


class Elements(HTMLParser):
    """Names of all elements, and all attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


def parse(html: str) -> Elements:
    found = Elements()
    found.feed(html)
    return found


def data_of(html: str) -> dict[str, Any]:
    packed = re.search(r'id="data">([^<]*)<', html)
    assert packed
    loaded: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed[1])))
    return loaded


def test_texts_never_become_markup() -> None:
    page = make_page(systems=["A", EVIL], command=f"prism {EVIL}", parts=[by_name(EVIL, [EVIL, "b"] * 3)])
    html = render_page(page)
    plain = render_page(make_page(systems=["A", "B"], command="prism", parts=[by_name("x", ["a", "b"] * 3)]))
    assert parse(html).names.count("script") == 2  # the data, and our own script
    assert sorted(parse(html).names) == sorted(parse(plain).names)
    assert "<img" not in html
    assert not [name for name, _ in parse(html).attributes if name.startswith("on")]


def test_only_our_script_may_run_and_nothing_may_be_loaded() -> None:
    html = render_page(make_page())
    script = html.rsplit("<script>", 1)[1].split("</script>")[0]
    wanted = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(value for name, value in parse(html).attributes if name == "content" and "default-src" in value)
    assert f"script-src 'sha256-{wanted}'" in policy
    assert policy.startswith("default-src 'none'")
    assert not [value for name, value in parse(html).attributes if name in ("src", "href") and "//" in value]


def test_data_of_the_segments() -> None:
    data = data_of(render_page(make_page(systems=["A", EVIL])))
    assert data["systems"] == ["A", EVIL]
    assert data["outputs"][1][2] == "output 2 of 1"
    assert data["metrics"][0]["scores"][0] == [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0]
    direction, pieces, scores = data["traces"]["prism-ref"][3][1][0]
    assert direction == "hypothesis|reference"
    assert pieces.split("\n") == ["▁output", EVIL, "</s>"]
    assert scores.split() == ["25", "977", "1"]


def test_scores_intervals_and_command_are_in_the_page() -> None:
    html = render_page(make_page(command="prism compare --metric 'm'"))
    assert "-3.5000" in html
    assert "prism compare --metric &#39;m&#39;" in html
    assert html.count("<svg") == 4  # intervals and distributions of two metrics
    assert "Do the metrics agree?" in html


@pytest.mark.parametrize(
    ("outputs", "sources", "wanted"),
    [
        (["a", " ", ""], ["x", "y", "z"], {1: [EMPTY], 2: [EMPTY]}),
        (["the same output again"] * 3, ["x", "y", "x"], {1: [REPEATED]}),
        (["Yes."] * 2, ["Ja.", "Jawohl."], {}),
        (
            ["Der Ausschuss trat am Dienstag im großen Saal zusammen und nahm den Bericht an."],
            ["x"],
            {0: [FOREIGN]},
        ),
    ],
)
def test_flags(outputs: list[str], sources: list[str], wanted: dict[int, list[str]]) -> None:
    assert flag(outputs, sources, "en") == wanted
    assert FOREIGN not in str(flag(outputs, sources, "no such language"))
