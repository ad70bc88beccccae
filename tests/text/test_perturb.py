import pytest

from prism_mt import PrismError
from prism_mt.text.perturb import KINDS, Kind, Perturbed, negations, perturb
from prism_mt.text.words import words_of

TEXTS = {
    "en": [
        "The minister was in Paris before 1998, and many people can remember the long visit.",
        "A large company from Berlin has opened three offices in China after the summer.",
    ],
    "zh": [
        "中国的人口在1998年之前没有增加，许多农民搬到了北京。",
        "一家大型公司夏天之后在法国可以开设三个办事处。",
    ],
    "bg": [
        "Министърът е в Париж преди 1998 година и много хора могат да си спомнят посещението.",
        "Голяма компания от Берлин има три офиса в Китай след лятото.",
    ],
}


def made(language: str, seed: int = 0) -> list[Perturbed]:
    return list(perturb(TEXTS[language], language, seed=seed))


@pytest.mark.parametrize("language", TEXTS)
def test_every_kind_marks_its_place(language: str) -> None:
    found = made(language)
    assert {one.kind for one in found} == set(KINDS)
    for one in found:
        assert one.text != one.original
        assert one.wrong or one.missing
        # Without what is wrong, and without what is missing, both texts have the same characters.
        rest = "".join(character for place, character in enumerate(one.text) if not _inside(place, one.wrong))
        if one.missing:
            kept = "".join(c for place, c in enumerate(one.original) if not _inside(place, one.missing))
            assert rest.split() == kept.split() or rest.replace(" ", "") == kept.replace(" ", "")


def _inside(place: int, spans: tuple[tuple[int, int], ...]) -> bool:
    return any(start <= place < end for start, end in spans)


def test_the_seed_decides() -> None:
    assert made("en") == made("en")
    assert [one.text for one in made("en")] != [one.text for one in made("en", seed=1)]


@pytest.mark.parametrize(
    ("kind", "text", "language", "result", "wrong", "missing"),
    [
        ("negation", "They were right.", "en", "They were not right.", ["not"], []),
        ("negation", "They were not right.", "en", "They were right.", [], ["not"]),
        ("negation", "Книга была дома.", "ru", "Книга не была дома.", ["не"], []),
        ("negation", "Er hat keine Zeit.", "de", None, None, None),
        ("antonym", "He came before us.", "en", "He came after us.", ["after"], []),
        ("antonym", "He came to us.", "en", None, [], []),
        ("number", "No digits here.", "en", None, [], []),
        ("name", "Ein Haus am See.", "de", None, [], []),
    ],
)
def test_single_mistakes(
    kind: Kind, text: str, language: str, result: str | None, wrong: list[str] | None, missing: list[str]
) -> None:
    found = list(perturb([text], language, kinds=[kind]))
    if wrong is None:  # several are possible
        assert found[0].text in ("Er hat eine Zeit.", "Er hat nicht keine Zeit.")
        return
    assert [one.text for one in found] == ([] if result is None else [result])
    for one in found:
        assert [one.text[start:end] for start, end in one.wrong] == wrong
        assert [text[start:end] for start, end in one.missing] == missing


def test_numbers_keep_their_script() -> None:
    [one] = perturb(["দাম ৪২ টাকা।"], "bn", kinds=["number"])
    [(start, end)] = one.wrong
    assert one.text[start:end] != "৪২"
    assert set(one.text[start:end]) <= set("০১২৩৪৫৬৭৮৯")


def test_a_name_of_several_words_is_replaced_as_a_whole() -> None:
    [one] = perturb(["He met George Washington at noon."], "en", kinds=["name"])
    [(start, end)] = one.wrong
    assert one.text == f"He met {one.text[start:end]} at noon."


def test_added_words_are_those_of_other_texts() -> None:
    others = {word for text in TEXTS["en"] for word in _words(text)}
    for one in perturb(TEXTS["en"], "en", kinds=["addition", "wrong-word"]):
        [(start, end)] = one.wrong
        assert set(_words(one.text[start:end].lower())) <= others
        assert not set(_words(one.text[start:end])) & set(_words(one.original))


def _words(text: str) -> list[str]:
    return [text[start:end] for start, end in words_of(text, "en")]


def test_severity_and_mistakes_of_the_user() -> None:
    assert {one.kind: one.severity for one in made("en")}["word-order"] == "minor"
    assert {one.severity for one in made("en") if one.kind != "word-order"} == {"major"}
    with pytest.raises(PrismError, match="word boundaries"):
        list(perturb(["สวัสดี"], "th"))


def test_words_that_negate() -> None:
    assert negations("en") == {"not", "no", "cannot"}
    assert negations("ro") == {"nu"}
    assert negations("de") == {"nicht", "kein", "keine", "keinen"}
    assert {"nav", "ne"} <= negations("lv")  # "ir=nav"
    assert "yok" in negations("tr")
    assert "нет" in negations("ru")
    assert negations("et") == {"ei"}
    assert "telah" not in negations("id")  # "telah=belum"
    assert negations("xx") == frozenset()
