"""The pictures of the docs show the page that the code makes."""

import pytest
from run_examples import ROOT
from take_pictures import origin


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 400])
def test_pictures_are_of_this_page_and_this_model(width: int, scheme: str) -> None:
    image = pytest.importorskip("PIL.Image", reason="needs the extra plots")
    with image.open(ROOT / "docs" / "images" / f"page-{width}-{scheme}.png") as picture:
        assert picture.width == width
        assert picture.text["origin"] == origin(), "take them anew: python tools/take_pictures.py"
