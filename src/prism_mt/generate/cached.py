"""Cached n-best lists: the same text is searched once per model and options, and a killed run can resume."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from prism_mt._core.cache import Keys, Store
from prism_mt.generate.generator import Generator, Hypothesis, Route

_CHUNK = 256
_TOGETHER = 16
"""Lists per transaction: the most that a killed run can lose of a slow search."""


class StoredLists:
    """Hypotheses for texts of one route, from the user's cache if available."""

    def __init__(self, generator: Generator, route: Route, store: Store | None = None) -> None:
        self._generator = generator
        self._route = route
        self._store = store or Store("nbest")
        options, engine = generator.options, generator.engine_config
        self._keys = Keys(
            generator.model.digest,
            options.signature(),
            str(options.n),
            f"{engine.engine} {engine.precision}",
            repr(tuple(route)),
        )

    def stream(self, texts: Iterable[str], where: Callable[[int], str]) -> Iterator[list[Hypothesis]]:
        """Yield the hypotheses of every text in order; `where` names the text at an index in messages."""
        rest = enumerate(texts)
        while chunk := list(islice(rest, _CHUNK)):
            names: dict[str, str] = {}
            for place, text in chunk:
                names.setdefault(text, where(place))
            known = self.lists(names)
            yield from (known[text] for _, text in chunk)

    def lists(self, texts: Mapping[str, str]) -> dict[str, list[Hypothesis]]:
        """Return the hypotheses of every text; missing ones are generated and cached.

        `texts` maps each text to its name in messages.
        """
        keys = {text: self._keys.key(text.encode("utf-8", "surrogatepass")) for text in texts}
        stored = self._store.get(list(keys.values()))
        known: dict[str, list[Hypothesis]] = {}
        for text, key in keys.items():
            found = _unpack(stored[key]) if key in stored else None
            if found is not None:
                known[text] = found
        missing = [text for text in texts if text not in known]
        made = zip(
            missing,
            self._generator.search(missing, self._route, lambda place: texts[missing[place]]),
            strict=True,
        )
        while some := dict(islice(made, _TOGETHER)):
            self._store.put((keys[text], _pack(found)) for text, found in some.items())
            known |= some
        return known


def _pack(found: list[Hypothesis]) -> bytes:
    return json.dumps([[one.text, one.score] for one in found], ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )


def _unpack(value: bytes) -> list[Hypothesis] | None:
    """Deserialize a list; None if the value is invalid, so that it is generated again."""
    try:
        return [Hypothesis(str(text), float(score)) for text, score in json.loads(value)]
    except (ValueError, TypeError, RecursionError):
        return None
