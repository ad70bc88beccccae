from pathlib import Path

import pytest

from prism_mt.encoders.languages import card_languages


@pytest.mark.parametrize(
    ("card", "languages"),
    [
        ("---\nlanguage: en\nlicense: mit\n---\n# BERT", {"en"}),
        ("---\nlanguage:\n- no\n- deu\n- xx-unknown\n---\n", {"no", "de", "xx-unknown"}),
        ("---\nlanguage: [multilingual, en]\n---\n", None),
        ("---\nlicense: mit\n---\n", None),
        ("---\nlanguage: [en\n---\n", None),
        ("# BERT\n---\nlanguage: en\n---\n", None),
        ("---\nlanguage: " + "[" * 5000 + "\n---\n", None),
        (None, None),
    ],
)
def test_languages_of_a_model_card(card: str | None, languages: set[str] | None, tmp_path: Path) -> None:
    if card is not None:
        (tmp_path / "README.md").write_text(card, "utf-8")
    assert card_languages(tmp_path) == languages
