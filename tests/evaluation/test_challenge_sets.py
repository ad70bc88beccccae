import json
from pathlib import Path

import pytest

from prism_mt import PrismError
from prism_mt.evaluation.readers.challenge_sets import BUILTIN, read_contrasts, read_texts
from prism_mt.text.parallel import Languages

DEMETR = {
    "id": 1,
    "src_sent": "Es kostete 20 Euro.",
    "eng_sent": "It cost 20 euros.",
    "mt_sent": "It was 20 euros.",
    "pert_sent": "It was 90 euros.",
    "lang_tag": "german",
    "pert_check": True,
    "pert_name": "critical_id10_numbers_replaced",
}


def test_demetr(tmp_path: Path) -> None:
    path = tmp_path / "numbers.json"
    chinese = {**DEMETR, "lang_tag": "chinese_simple"}
    path.write_text(json.dumps([DEMETR, {**DEMETR, "pert_check": False}, chinese], indent=1), encoding="utf-8")
    german, other = read_contrasts([path])
    assert (german.good, german.bad) == ("It was 20 euros.", "It was 90 euros.")
    assert (german.reference, german.source) == ("It cost 20 euros.", "Es kostete 20 Euro.")
    assert german.phenomenon == "critical_id10_numbers_replaced"
    assert german.languages == Languages("en", "de")
    assert other.languages == Languages("en", "zh")


def test_demetr_with_an_object_on_each_line(tmp_path: Path) -> None:
    path = tmp_path / "numbers.jsonl"
    lines = [DEMETR, {**DEMETR, "pert_check": False}, {**DEMETR, "lang_tag": "chinese_simple"}]
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    assert [one.languages.source for one in read_contrasts([path])] == ["de", "zh"]
    path.write_text(json.dumps(DEMETR) + "\n{}\n", encoding="utf-8")
    with pytest.raises(PrismError, match="line 2: no mt_sent, which the layout of DEMETR has"):
        read_contrasts([path])


def test_a_missing_file_is_not_called_invalid(tmp_path: Path) -> None:
    with pytest.raises(PrismError, match=r"^cannot read .*nowhere.json: No such file"):
        read_contrasts([tmp_path / "nowhere.json"])


def test_aces(tmp_path: Path) -> None:
    path = tmp_path / "aces.tsv"
    path.write_text(
        "source\tgood-translation\tincorrect-translation\treference\tphenomena\tlangpair\n"
        'Ja "genau".\tYes "exactly".\tNo.\tYes.\tantonym-replacement\tde-en\n',
        encoding="utf-8",
    )
    [found] = read_contrasts([path])
    assert (found.source, found.good, found.bad, found.reference) == (
        'Ja "genau".',
        'Yes "exactly".',
        "No.",
        "Yes.",
    )
    assert (found.phenomenon, found.languages) == ("antonym-replacement", Languages("en", "de"))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "{}", "a.json: expected a list of objects"),
        ("a.json", "[1]", "a.json, item 1: expected an object"),
        ("a.json", "[", "a.json is not valid JSON"),
        ("a.json", "[]", "a.json has no contrasts"),
        ("a.json", '[{"mt_sent": "a"}]', "item 1: no pert_sent, which the layout of DEMETR has"),
        ("a.json", json.dumps([{**DEMETR, "lang_tag": "klingonese"}]), "item 1: lang_tag 'klingonese' is not a"),
        ("a.json", json.dumps([{**DEMETR, "mt_sent": 3}]), "item 1: expected a string, not 3"),
        ("a.tsv", "source\tgood\nx\ty\n", "line 2: no good-translation, which the layout of ACES has"),
        (
            "a.tsv",
            "good-translation\tincorrect-translation\tphenomena\tlangpair\nx\ty\tz\tdeen\n",
            "line 2: langpair 'deen' is not a language pair",
        ),
    ],
)
def test_files_of_another_shape(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PrismError, match=message):
        read_contrasts([path])


def test_texts(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text('{"_id": 1, "en": "a", "de": "b"}\n{"_id": 2, "de": "d", "en": "c"}\n', encoding="utf-8")
    assert read_texts(path) == {"en": ["a", "c"], "de": ["b", "d"]}
    path.write_text('{"en": "a", "de": "b"}\n{"en": "c"}\n', encoding="utf-8")
    with pytest.raises(PrismError, match="line 2 has no text in de"):
        read_texts(path)
    path.write_text('{"en": "a"}\n{"en": "c", "de": "b"}\n', encoding="utf-8")
    with pytest.raises(PrismError, match="line 2 has a text in de, which an earlier line lacks"):
        read_texts(path)
    plain = tmp_path / "plain.txt"
    plain.write_text("a\nb\n", encoding="utf-8")
    assert read_texts(plain, ["fr"]) == {"fr": ["a", "b"]}
    with pytest.raises(PrismError, match="name its one language"):
        read_texts(plain)


def test_the_built_in_texts() -> None:
    texts = read_texts(BUILTIN)
    assert len(texts) == 39
    assert {len(own) for own in texts.values()} == {24}
    assert all(text.strip() for own in texts.values() for text in own)
