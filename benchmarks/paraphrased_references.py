"""Do paraphrases make BLEU a better judge of systems? Those of people and of a model, on WMT19 de-en and en-de.

    python benchmarks/paraphrased_references.py [--data DIR] [--model mini] [--segments 100]

System-level Pearson with the direct assessments, on the segments that people have paraphrased: five paraphrases of each
reference of de-en (Bawden et al. 2020); two more references of en-de with a paraphrase of each and of the official one
(Freitag et al. 2020). With `--model`, parBLEU with as many paraphrases of the model's beside them.
"""

import argparse
import csv
import json
import lzma
import os
from collections.abc import Mapping
from pathlib import Path

import prism_mt
from prism_mt.evaluation.judgments import add_texts
from prism_mt.report.table import Table, number, render
from prism_mt.stats.correlation import pearson

_BEAM, _GROUPS = 10, 5
"""Of the model's search: smaller than the default, since one model is compared with people and not with another."""


def english(folder: Path) -> dict[str, list[str]]:
    """Paraphrases of references of de-en, by reference."""
    path = folder / "wmt19_de-en_human_paraphrases_500.tsv.xz"
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as handle:
        _, *lines = csv.reader(handle, delimiter="\t", quoting=csv.QUOTE_NONE)
    return {reference: others for reference, *others in lines}


def german(folder: Path) -> dict[str, list[str]]:
    """Other references of en-de and paraphrases, by number of segment."""
    with lzma.open(folder / "wmt18-20_en-de_paraphrased_refs.jsonl.xz", "rt", encoding="utf-8") as handle:
        rows = [row for row in map(json.loads, handle) if row["set"] == "wmt19"]
    return {str(row["sid"]): [row["refs"][name] for name in ("wmtp", "ar", "arp")] for row in rows}


def table(folder: Path, pair: str, others: Mapping[str, list[str]], options: argparse.Namespace) -> Table:
    """Pearson of BLEU for every number of references."""
    judgments = prism_mt.read_judgments(folder / "wmt19_da_sys.tsv.xz", pair=pair)
    judgments = add_texts(judgments, prism_mt.read_judgments(folder / "wmt19_metrics_task.jsonl.xz", pair=pair))
    assert judgments.texts is not None
    [references] = judgments.texts.references.values()
    keys = references if pair == "de-en" else judgments.segments
    chosen = [place for place, key in enumerate(keys) if key in others][: options.segments]
    outputs = {
        system: [judgments.texts.outputs[system][place] or "" for place in chosen] for system in judgments.systems
    }
    original = [references[place] or "" for place in chosen]
    people = [list(column) for column in zip(*(others[keys[place] or ""] for place in chosen), strict=True)]

    def value(metric: prism_mt.Metric | str, *more: list[str]) -> float:
        scores = prism_mt.score(outputs, ref=[original, *more], lang=pair[-2:], metrics=metric)
        [found] = scores.values()
        return pearson(judgments.system_means(), found.system_scores)

    rows: list[tuple[int, float, float | None]] = []
    for count in range(len(people) + 1):
        generated = None
        if options.model and count:
            generated = value(
                prism_mt.ParBleu(
                    model=options.model, paraphrases=count, paraphrase_beam=_BEAM, paraphrase_groups=_GROUPS
                )
            )
        rows.append((count, value("bleu", *people[:count]), generated))
    columns = (number("added", 0), number("people", 3), number(options.model or "model", 3))
    caption = f"{pair}, {len(chosen):,} segments, {len(judgments.systems)} systems: Pearson with added references"
    return Table(
        columns if options.model else columns[:2], tuple(row[: 2 + bool(options.model)] for row in rows), caption
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("PRISM_DATA", Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--data", type=Path, default=default, help="folder with judgments/")
    parser.add_argument("--model", help="model that paraphrases, too")
    parser.add_argument("--segments", type=int, help="only so many segments (default: all that have paraphrases)")
    options = parser.parse_args()
    folder = options.data / "judgments"
    for pair, read in {"de-en": english, "en-de": german}.items():
        print(render(table(folder, pair, read(folder), options)), flush=True)


if __name__ == "__main__":
    main()
