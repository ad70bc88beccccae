"""The page in a browser: Debian's Chromium, driven by Playwright."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from made_page import EVIL, make_page

from prism_mt.report.page import render_page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
COUNT = 3000


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render_page(make_page(["A", "B", EVIL], COUNT)), encoding="utf-8")
    return path


@pytest.fixture
def page(browser: Any, file: Path) -> Iterator[Any]:
    opened = browser.new_page(viewport={"width": 1200, "height": 900})
    opened.trouble = []
    opened.on("pageerror", lambda error: opened.trouble.append(str(error)))
    opened.on("console", lambda message: opened.trouble.append(message.text))
    opened.on("dialog", lambda dialog: opened.trouble.append(dialog.message))
    opened.on("request", lambda request: request.url.startswith("file:") or opened.trouble.append(request.url))
    opened.goto(file.as_uri())
    opened.wait_for_selector(".row")
    yield opened
    assert opened.trouble == []
    opened.close()


def test_table_is_sorted(page: Any) -> None:
    names = "table#summary tbody th"
    page.click("table#summary thead button >> nth=0")
    assert page.locator(names).all_inner_texts() == ["B", "A", EVIL]
    page.click("table#summary thead button >> nth=0")
    assert page.locator(names).all_inner_texts() == [EVIL, "A", "B"]
    assert page.locator("table#summary th >> nth=0").get_attribute("aria-sort") == "ascending"


def test_segments_are_found_and_only_what_is_seen_exists(page: Any) -> None:
    assert page.inner_text("#count") == "3,000 of 3,000 segments"
    assert page.locator(".row").count() < 40
    page.fill("#query", "output 2999 ")
    assert page.inner_text("#count") == "1 of 3,000 segments"
    assert page.inner_text("#detail h3") == "Segment 3000"
    page.fill("#query", "nowhere")
    assert page.locator(".row").count() == 0
    assert page.inner_text("#detail") == ""


def test_two_systems_are_compared(page: Any) -> None:
    page.select_option("#sort", "loses")
    # A falls from -1 to -3000, B rises from -3300 to -1.1: the last segment is lost by the most
    assert page.inner_text("#detail h3") == "Segment 3000"
    assert "loses by 2998.9" in page.inner_text(".row[aria-selected=true]")
    page.select_option("#sort", "wins")
    assert page.inner_text("#detail h3") == "Segment 1"
    page.select_option("#metric", "1")  # an error count, of which lower is better: the same order
    assert page.inner_text("#detail h3") == "Segment 1"


def test_disagreement_of_metrics(page: Any) -> None:
    page.select_option("#sort", "disagree")
    assert page.inner_text("#detail h3") == "Segment 2"


def test_systems_are_filtered(page: Any) -> None:
    shown = page.locator("#detail .output h4")
    assert shown.count() == 3
    page.select_option("#outputs", "chosen")
    assert [text.split("\n")[0].split("prism-ref")[0].strip() for text in shown.all_inner_texts()] == ["A", "B"]
    page.fill("#query", "of 2 ")  # the third system says so
    assert page.inner_text("#count") == "0 of 3,000 segments"
    page.select_option("#other", "2")
    assert page.inner_text("#count") == "3,000 of 3,000 segments"


def test_print_is_light_and_complete(page: Any) -> None:
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.emulate_media(color_scheme="dark", media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == light
    assert not page.is_visible("#list")
    assert page.is_visible("#detail .piece")
    assert page.evaluate("getComputedStyle(document.querySelector('.scroll')).maxHeight") == "none"
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0


def test_colors_follow_log_probabilities(page: Any) -> None:
    pieces = page.locator("#detail .pieces >> nth=0").locator(".piece")
    assert pieces.all_inner_texts()[1] == EVIL
    alphas = [float(piece.evaluate("e => e.style.getPropertyValue('--alpha')")) for piece in pieces.all()]
    assert alphas == [0.031, 1.0, 0.001]
    assert [piece.get_attribute("data-score") for piece in pieces.all()] == ["−0.25", "−9.77", "−0.01"]
    assert "worst" in (pieces.nth(1).get_attribute("class") or "")


def test_keyboard_reaches_segments_and_pieces(page: Any) -> None:
    page.focus("#list")
    page.keyboard.press("ArrowDown")
    assert page.inner_text("#detail h3") == "Segment 2"
    page.keyboard.press("End")
    assert page.inner_text("#detail h3") == "Segment 3000"
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.score") == "−9.77"
    shown = page.evaluate("getComputedStyle(document.activeElement, '::after').content")
    assert shown == '"−9.77"'


def test_a_point_opens_its_segment(page: Any) -> None:
    page.fill("#query", "output 7 ")
    page.locator("#scatter").scroll_into_view_if_needed()
    d = page.locator("#scatter .points").get_attribute("d")
    x, y = map(float, d.split("M")[3000].removesuffix("h0").split())  # the last segment
    page.click("#scatter", position={"x": x, "y": y})
    assert page.inner_text("#detail h3") == "Segment 3000"
    assert page.input_value("#query") == ""  # it would have hidden the segment
    assert float(page.locator("#scatter .ring").get_attribute("cx")) == pytest.approx(x, abs=0.1)


def test_the_scatter_plot_has_round_numbers_and_a_keyboard(page: Any) -> None:
    labels = page.locator("#scatter .tick").all_text_contents()
    assert {"−3000", "−2000", "−1000"} <= set(labels)
    page.focus("#scatter")
    page.keyboard.press("End")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#tip").startswith("#1: A −1.0, B −3300.0; better: A")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    assert page.inner_text("#detail h3") == "Segment 2"
    page.select_option("#other", "0")  # nothing to compare with itself
    assert not page.is_visible("#pair")


def test_words_unlike_the_reference(page: Any) -> None:
    assert page.is_visible("#scale-legend")
    page.select_option("#color", "words")
    assert not page.is_visible("#scale-legend")
    assert page.is_visible("#word-legend")
    first = page.locator("#detail .output >> nth=0")
    assert sorted(first.locator("ins").all_inner_texts()) == ["0", "of", "output"]
    assert first.locator("del").all_inner_texts() == ["reference"]
    assert page.locator("#detail .piece").count() == 0


@pytest.mark.parametrize(
    ("output", "reference", "wanted"),
    [
        ("the cat sat", "the dog sat", "same the, missing dog, new cat, same sat"),
        ("a", "", "new a"),
        ("", "a b", "missing a, missing b"),
        ("他来了", "他没来", "same 他, missing 没, same 来, new 了"),
        ("It's 3 o'clock.", "It's 3!", "same It's, same 3, missing !, new o'clock, new ."),
    ],
)
def test_differences_of_words(page: Any, output: str, reference: str, wanted: str) -> None:
    steps = page.evaluate("([a, b]) => compareWords(splitWords(a), splitWords(b))", [output, reference])
    assert sorted(", ".join(step).replace(", ", " ") for step in steps) == sorted(wanted.split(", "))


def test_ngrams_of_two_systems(page: Any) -> None:
    ngrams = [
        ["big cat", 3, [3, 0]],
        ["cat", 3, [3, 0]],
        [", big", 3, [3, 0]],
        ["dog", 4, [1, 2]],
        ["on", 9, [5, 4]],
    ]
    found = page.evaluate("(all) => tellingNgrams(all, 0, 1).map((one) => one[0])", ngrams)
    assert found == ["big cat", "on"]  # "cat" says nothing beyond "big cat"
    assert page.evaluate("(all) => tellingNgrams(all, 1, 0).map((one) => one[0])", ngrams) == ["dog"]


@pytest.mark.parametrize("width", [320, 400, 768, 1400])
def test_nothing_is_wider_than_the_window(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_dark_and_phone(page: Any) -> None:
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    list_box, detail_box = (page.locator(name).bounding_box() for name in ("#list", "#detail"))
    assert detail_box["y"] >= list_box["y"] + list_box["height"]
