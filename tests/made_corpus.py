"""A small corpus of three languages with a configuration, and the ways to prepare it."""

import filecmp
import json
from pathlib import Path

from prism_mt._core.options import load_toml
from prism_mt.cli.main import main
from prism_mt.corpus.config import CorpusConfig
from prism_mt.corpus.executor import Executor, Serial
from prism_mt.corpus.pipeline import open_preparation, prepare
from prism_mt.corpus.report import Report

CONFIG = """
languages = ["de", "en", "fr"]
heldout = ["test.tsv"]
seed = 7

[[source]]
path = "multi.jsonl"

[[source]]
path = "pairs.tsv"
group = "web"

[[step]]
kind = "normalize"

[[step]]
kind = "length"

[[step]]
kind = "deduplicate"

[[step]]
kind = "decontaminate"

[[step]]
kind = "copies"
pieces = 400
sentences = 1000

[[step]]
kind = "minimum"
pair = 5

[[step]]
kind = "sample"
total = 900
temperature = 2.0
max_repeat = 2.0

[vocabulary]
size = 380
sentences = 2000

[shards]
max_pieces = 60
valid = 5
valid_share = 0.02
"""

SUBJECTS = {
    "en": ["the dog", "the old man", "a teacher", "my sister", "the green bird", "our neighbour"],
    "de": ["der Hund", "der alte Mann", "ein Lehrer", "meine Schwester", "der grüne Vogel", "unser Nachbar"],
    "fr": ["le chien", "le vieil homme", "un professeur", "ma sœur", "l'oiseau vert", "notre voisin"],
}
VERBS = {
    "en": ["sees", "has found", "never forgets", "will buy", "wants to paint", "has lost"],
    "de": ["sieht", "fand gestern", "vergisst nie", "kauft bald", "malt gern", "verlor"],
    "fr": ["voit", "a trouvé", "n'oublie jamais", "achètera", "veut peindre", "a perdu"],
}
OBJECTS = {
    "en": ["bread", "a house", "the sea", "ten letters", "this garden", "that song", "snow", "money"],
    "de": ["Brot", "ein Haus", "das Meer", "zehn Briefe", "diesen Garten", "jenes Lied", "Schnee", "Geld"],
    "fr": ["du pain", "une maison", "la mer", "dix lettres", "ce jardin", "cette chanson", "la neige", "l'argent"],
}


def sentence(language: str, number: int) -> str:
    words = (SUBJECTS[language][number % 6], VERBS[language][number // 6 % 6], OBJECTS[language][number // 36 % 8])
    return " ".join(words) + "."


# Several chunks from little text.
SMALL_BLOCKS = {"tsv": 2000, "jsonl": 2000, "moses": 2000, "tmx": 2000}


def make_corpus(folder: Path) -> Path:
    multi = [{code: sentence(code, number) for code in ("en", "de", "fr")} for number in range(250)]
    (folder / "multi.jsonl").write_text("".join(json.dumps(row) + "\n" for row in multi), "utf-8")
    pairs = [f"en\tde\t{sentence('en', number)}\t{sentence('de', number)}" for number in range(200, 288)]
    pairs += ["en\tde\tonly three", "de\ten\t\tempty", "de\ten\tcopied words stay here\tcopied words stay here"]
    (folder / "pairs.tsv").write_text("\n".join(pairs) + "\n", "utf-8")
    (folder / "test.tsv").write_text(f"en\tde\t{sentence('en', 3).upper()}\tx\n", "utf-8")
    (folder / "config.toml").write_text(CONFIG, "utf-8")
    return folder


def run(corpus: Path, output: Path, executor: Executor | None = None) -> Report:
    loaded = load_toml(corpus / "config.toml", CorpusConfig)
    return prepare(open_preparation(loaded, corpus, output, "config.toml"), executor or Serial())


def command(corpus: Path, output: str, *more: str) -> int:
    words = ["corpus", "prepare", str(corpus / "config.toml"), "--root", str(corpus), "--workers", "1"]
    return main([*words, "--output", str(corpus / output), *more])


def same_files(first: Path, second: Path) -> bool:
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(path.name for path in second.iterdir())
    return filecmp.cmpfiles(first, second, names, shallow=False) == (names, [], [])
