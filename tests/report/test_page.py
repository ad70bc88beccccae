"""The page as a file: complete, escaped, small."""

import base64
import datetime
import gzip
import hashlib
import itertools
import json
import random
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from made_page import EVIL, make_page
from markupsafe import escape

from prism_mt.evaluation.buckets import by_name
from prism_mt.metrics.base import ErrorSpan, TokenTrace
from prism_mt.report import svg
from prism_mt.report.flags import EMPTY, FOREIGN, REPEATED, flag
from prism_mt.report.page import Heading, render_page
from prism_mt.report.verdict import verdict
from prism_mt.text.lines import lines_of
from prism_mt.text.parallel import Languages, ParallelText


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
    evil = Heading(EVIL, EVIL)
    page = make_page(["A", EVIL], command=f"prism {EVIL}", parts=[by_name(EVIL, [EVIL, "b"] * 3)], heading=evil)
    html = render_page(page)
    plain = make_page(["A", "B"], command="prism", parts=[by_name("x", ["a", "b"] * 3)], heading=Heading("t", "s"))
    assert parse(html).names.count("script") == 2  # the data, and our own script
    assert sorted(parse(html).names) == sorted(parse(render_page(plain)).names)
    assert "<img" not in html
    assert not [name for name, _ in parse(html).attributes if name.startswith("on")]


def test_title_date_test_set_languages_and_verdict() -> None:
    heading = Heading("Systems of this week", "newstest", datetime.date(2026, 11, 8))
    page = replace(make_page(["A", "B", "C"], heading=heading), languages=Languages("de", "en"))
    html = render_page(page)
    assert "<title>Systems of this week</title>" in html
    assert "<h1>Systems of this week</h1>" in html
    facts = ["8 November 2026", "newstest", "English to German", "6 segments"]
    assert html.split('<p class="facts">')[1].split("</p>")[0] == "".join(f"<span>{fact}</span>" for fact in facts)
    first = html.split('aria-label="Verdict"')[1].split("</section>")[0]
    assert escape(verdict(page.comparisons[0])) in first.replace("\u00a0", " ")
    assert "<h1>3 translation systems compared</h1>" in render_page(make_page(["A", "B", "C"]))
    assert "<h1>A and B compared</h1>" in render_page(make_page())


def test_words_of_the_page() -> None:
    data = data_of(render_page(make_page(["A", "B"])))
    # "2" of the first reference is in the outputs of both systems, "output" is in no reference
    assert all(max(matches) > min(matches) for _, _, matches in data["ngrams"])
    html = render_page(make_page())
    assert "Are rare words right?" in html
    assert "Are outputs too short or too long?" in html


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
    assert data["outputs"][1][2] == f"output 2 of 1 {EVIL}"
    assert data["metrics"][0]["scores"][0] == [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0]
    direction, pieces, scores = data["traces"]["prism-ref"][3][1][0]
    assert direction == "hypothesis|reference"
    assert pieces.split("\n") == ["▁output", EVIL, "</s>"]
    assert scores.split() == ["25", "977", "1"]


def test_scores_intervals_and_command_are_in_the_page() -> None:
    html = render_page(make_page(command="prism compare --metric 'm'"))
    assert "−3.5" in html
    assert "prism compare --metric &#39;m&#39;" in html
    assert html.count('class="lanes"') == 4  # intervals and distributions of two metrics
    assert "Do the metrics agree?" in html


def test_a_page_without_references_and_source() -> None:
    page = make_page()
    data = data_of(render_page(replace(page, text=ParallelText(page.text.systems))))
    assert (data["source"], data["references"]) == (None, [])
    assert data["outputs"][0][0].startswith("output 0")


def test_ten_thousand_segments_of_five_systems_would_stay_below_30_mb() -> None:
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrst", k=chance.randint(2, 9))) for _ in range(8000)]
    page = make_page("ABCDE", 500)
    lines = [[" ".join(chance.choices(words, k=25)) for _ in range(500)] for _ in range(6)]

    def trace(direction: str, text: str) -> TokenTrace:
        pieces = [word[:4] for word in text.split()] + [word[4:] for word in text.split() if word[4:]]
        return TokenTrace(direction, tuple(pieces), tuple(-chance.expovariate(1.0) for _ in pieces))

    traces = tuple(
        tuple(
            (trace("hypothesis|reference", own[i]), trace("reference|hypothesis", lines[5][i])) for i in range(500)
        )
        for own in lines[:5]
    )
    systems = tuple((name, lines_of(own, name)) for name, own in zip("ABCDE", lines, strict=False))
    text = ParallelText(systems, (lines_of(lines[5], "ref"),))
    first, second = page.comparisons
    first = replace(first, metric=replace(first.metric, tokens=traces))
    html = render_page(replace(page, text=text, comparisons=(first, second)))
    assert len(html.encode()) * 20 < 30_000_000


def test_of_many_documents_the_largest_are_drawn() -> None:
    names = ["large", "large", *(f"document-{i}" for i in range(198))]
    [comparison, _] = make_page(count=200).comparisons
    plot = svg.groups(comparison, by_name("document", names), 2)
    shown = re.findall(r'<div class="who" title="([^"]+)"', plot)
    assert (len(shown), shown[0]) == (24, "large")


def test_axes_have_round_numbers() -> None:
    [comparison, _] = make_page(count=200).comparisons
    plot = svg.intervals(comparison, 1)
    labels = [float(text.replace("−", "-")) for text in re.findall(r'class="tick"[^>]*>([^<]+)<', plot)]
    assert len(labels) >= 3
    steps = {round(b - a, 6) for a, b in itertools.pairwise(labels)}
    assert len(steps) == 1
    assert f"{steps.pop():g}".strip("0.")[0] in "125"


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


def test_error_spans_of_every_output() -> None:
    page = make_page(["A", "B"])
    scores = page.comparisons[0].metric
    count = scores.segments.shape[1]
    span = ErrorSpan("hypothesis", 0, 2, "xx", "major", 0.876, 0)
    spans = tuple(
        tuple((span,) if system == 1 and not place else () for place in range(count)) for system in (0, 1)
    )
    marked = replace(page, comparisons=[replace(page.comparisons[0], metric=replace(scores, spans=spans))])
    html = render_page(marked)
    assert data_of(html)["spans"][scores.metric][1][0] == [["hypothesis", 0, 2, "major", 88, 0]]
    assert data_of(html)["spans"][scores.metric][0][0] == []
    assert '<option value="errors">' in html
    assert '<option value="errors">' not in render_page(page)
    assert data_of(render_page(page))["spans"] == {}
