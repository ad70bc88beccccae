from pathlib import Path
from typing import Any

import pytest
from sacrebleu.dataset import DATASETS
from sacrebleu.dataset.plain_text import PlainTextDataset

from prism_mt._core.errors import PrismError
from prism_mt.text.testsets import is_testset, open_testset


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of test sets in place of the user's."""
    monkeypatch.setattr("sacrebleu.utils.SACREBLEU_DIR", str(tmp_path))
    for name, dataset in DATASETS.items():
        monkeypatch.setattr(dataset, "_outdir", str(tmp_path / name))
        monkeypatch.setattr(dataset, "_rawdir", str(tmp_path / name / "raw"))
    return tmp_path


def put(folder: Path, name: str, pair: str, **fields: str) -> None:
    """Store a test set as sacreBLEU does after a download."""
    (folder / name).mkdir(parents=True)
    for field in {"docid", "genre", "origlang"} - set(fields):
        fields[field] = "x\n"
    for field, text in fields.items():
        (folder / name / f"{name.replace('/', '_')}.{pair}.{field.replace('_', '-')}").write_text(
            text, encoding="utf-8"
        )


@pytest.mark.parametrize(
    ("side", "texts", "label"),
    [("src", ["Hallo\u2028Welt", ""], "src"), ("ref", ["Hello world", "Bye"], "ref")],
)
def test_both_sides_have_the_language_of_the_translations(
    cache: Path, side: Any, texts: list[str], label: str
) -> None:
    put(cache, "wmt19", "de-en", src="Hallo\u2028Welt\n\n", ref="Hello world\nBye\n")
    opened = open_testset("sacrebleu:wmt19:de-en", side)
    assert (opened.language, opened.source_language) == ("en", "de")
    assert [list(lines) for lines in opened.lines] == [texts]
    assert opened.lines[0].name == f"sacrebleu:wmt19:de-en ({label})"


def test_a_set_with_a_path_for_a_name(cache: Path) -> None:
    put(cache, "wmt19/google/ar", "en-de", src="a\n", ref="b\n")
    opened = open_testset("sacrebleu:wmt19/google/ar:en-de", "ref")
    assert (opened.language, list(opened.lines[0])) == ("de", ["b"])


def test_several_references(cache: Path) -> None:
    put(cache, "wmt17/tworefs", "en-fi", src="a\n", ref_0="b\n", ref_1="c\n")
    opened = open_testset("sacrebleu:wmt17/tworefs:en-fi", "ref")
    assert [list(lines) for lines in opened.lines] == [["b"], ["c"]]
    assert [lines.name[-7:] for lines in opened.lines] == ["(ref 1)", "(ref 2)"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("sacrebleu:wmt19", "write sacrebleu:SET:PAIR, such as sacrebleu:wmt19:de-en"),
        ("sacrebleu:wmt19:de-en:x", "write sacrebleu:SET:PAIR"),
        ("sacrebleu::", "write sacrebleu:SET:PAIR"),
        ("sacrebleu:wmt99:de-en", "no test set 'wmt99'; it has iwslt17, .*wmt08, .*wmt19/google/ar, "),
        ("sacrebleu:wmt19:en-xx", "test set wmt19 has no pair 'en-xx'; it has cs-de, de-cs, de-en, "),
    ],
)
def test_unknown_sets_and_pairs(spec: str, message: str) -> None:
    with pytest.raises(PrismError, match=message):
        open_testset(spec, "ref")


@pytest.mark.parametrize(
    ("md5", "message"),
    [(None, "No such file or directory.*the first use needs a network"), ("0" * 32, "its download is damaged")],
)
def test_a_download_that_fails(
    cache: Path, monkeypatch: pytest.MonkeyPatch, md5: str | None, message: str
) -> None:
    source = cache / "downloaded.txt"
    if md5:
        source.write_text("text\n")
    dataset = PlainTextDataset(
        "fake", data=[source.as_uri()], md5=[md5] if md5 else None, langpairs={"de-en": ["a", "b"]}
    )
    monkeypatch.setattr(dataset, "_outdir", str(cache / "fake"))
    monkeypatch.setattr(dataset, "_rawdir", str(cache / "fake/raw"))
    monkeypatch.setitem(DATASETS, "fake", dataset)
    with pytest.raises(PrismError, match=rf"cannot fetch sacrebleu:fake:de-en \(.*{message}.*{cache}/fake"):
        open_testset("sacrebleu:fake:de-en", "src")


@pytest.mark.parametrize(
    ("spec", "expected"), [("sacrebleu:wmt19:de-en", True), ("sacrebleu.txt", False), (Path("x"), False)]
)
def test_is_testset(spec: str | Path, expected: bool) -> None:
    assert is_testset(spec) is expected


def test_offline_never_fetches_even_where_another_pair_is_here(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(cache, "wmt19", "de-en", src="a\n", ref="b\n")

    def connect(*_: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr("socket.getaddrinfo", connect)
    assert list(open_testset("sacrebleu:wmt19:de-en", "ref", offline=True).lines[0]) == ["b"]
    with pytest.raises(PrismError, match="`offline=`: not fetching sacrebleu:wmt19:cs-de"):
        open_testset("sacrebleu:wmt19:cs-de", "ref", offline=True)


def test_offline_after_a_download_that_failed(cache: Path) -> None:
    (cache / "wmt19" / "raw").mkdir(parents=True)
    with pytest.raises(PrismError, match="`offline=`: not fetching sacrebleu:wmt19:de-en"):
        open_testset("sacrebleu:wmt19:de-en", "src", offline=True)
    assert list((cache / "wmt19" / "raw").iterdir()) == []
