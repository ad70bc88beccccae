"""TMX translation memories, read unit by unit."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from prism_mt._core.errors import PrismError
from prism_mt.text.streams import open_stream

_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def read_units(path: Path) -> Iterator[list[tuple[str, str]]]:
    """Yield the (language, text) sides of each translation unit."""
    parser: Any = ElementTree.XMLPullParser(("start", "end"))
    root: ElementTree.Element | None = None
    try:
        for line in open_stream(path).lines():
            parser.feed(line)
            for event, element in parser.read_events():
                root = element if root is None else root
                if event == "end" and _local(element) == "tu":
                    yield [_side(variant) for variant in element.iter() if _local(variant) == "tuv"]
                    # The parser keeps what it has read: without this, a large file would be held in memory.
                    root.clear()
        parser.close()
    except (ElementTree.ParseError, ValueError, LookupError) as error:  # the latter two: an unknown encoding
        raise PrismError(f"{path} is not valid TMX: {error}") from error


def _local(element: ElementTree.Element) -> str:
    """A tag without its namespace."""
    return str(element.tag).rpartition("}")[2]


def _side(variant: ElementTree.Element) -> tuple[str, str]:
    language = variant.get(_XML_LANG) or variant.get("lang") or ""
    segment = next((child for child in variant if _local(child) == "seg"), None)
    text = "" if segment is None else "".join(segment.itertext())
    return language, text
