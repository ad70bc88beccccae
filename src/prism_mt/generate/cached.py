"""Generated lists that are kept: the same text is searched once per model and options, and a killed run goes on."""

import hashlib
import json
import sqlite3
from collections.abc import Mapping

from prism_mt._core.environment import cache_folder
from prism_mt._core.errors import PrismError
from prism_mt._core.textstore import OpenStore, TextStore
from prism_mt.generate.generator import Generator, Hypothesis, Route


class StoredLists:
    """Hypotheses for texts of one route, from the user's cache where they are known."""

    def __init__(self, generator: Generator, route: Route) -> None:
        self._generator = generator
        self._route = route
        options = generator.options
        key = json.dumps([options.signature(), options.n, list(route)])
        name = f"{generator.model.digest[:24]}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.sqlite"
        self.path = cache_folder() / "paraphrases" / name

    def lists(self, texts: Mapping[str, str]) -> dict[str, list[Hypothesis]]:
        """The hypotheses of every text; those that are not known yet are generated and kept, one by one.

        `texts` says for each what a message should call it.
        """
        try:
            with TextStore(self.path, "lists").open() as store:
                return self._complete(texts, store)
        except (sqlite3.Error, OSError) as error:
            raise PrismError(
                f"cannot use the stored paraphrases in {self.path} ({error}): delete that file"
            ) from error

    def _complete(self, texts: Mapping[str, str], store: OpenStore) -> dict[str, list[Hypothesis]]:
        known = {text: [Hypothesis(*one) for one in json.loads(kept)] for text, kept in store.get(list(texts))}
        missing = [text for text in texts if text not in known]
        made = self._generator.search(missing, self._route, lambda place: texts[missing[place]])
        for text, found in zip(missing, made, strict=True):
            known[text] = found
            store.put([(text, json.dumps([list(one) for one in found], ensure_ascii=False))])
        return known
