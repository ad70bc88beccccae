"""Do paraphrases by people make BLEU a better judge of systems? One to six references on 500 segments of WMT19 de-en.

    python benchmarks/human_paraphrases.py [--data DIR]

System-level Pearson with the direct assessments. The same with paraphrases by a model is one command: `prism metaeval
… --metric 'parbleu[paraphrases=5]'`.
"""

import argparse
import csv
import lzma
import os
from pathlib import Path

import prism_mt
from prism_mt.evaluation.judgments import add_texts
from prism_mt.report.table import Table, number, render
from prism_mt.stats.correlation import pearson


def table(folder: Path) -> Table:
    """Pearson of BLEU for every number of references."""
    judgments = prism_mt.read_judgments(folder / "wmt19_da_sys.tsv.xz", pair="de-en")
    judgments = add_texts(judgments, prism_mt.read_judgments(folder / "wmt19_metrics_task.jsonl.xz", pair="de-en"))
    with lzma.open(
        folder / "wmt19_de-en_human_paraphrases_500.tsv.xz", "rt", encoding="utf-8", newline="\n"
    ) as handle:
        header, *lines = csv.reader(handle, delimiter="\t", quoting=csv.QUOTE_NONE)
    paraphrases = {reference: others for reference, *others in lines}
    assert judgments.texts is not None
    [references] = judgments.texts.references.values()
    chosen = [place for place, text in enumerate(references) if text in paraphrases]
    columns = [
        [paraphrases[references[place] or ""][number] for place in chosen] for number in range(len(header) - 1)
    ]
    outputs = {
        system: [judgments.texts.outputs[system][place] or "" for place in chosen] for system in judgments.systems
    }
    every = [[references[place] or "" for place in chosen], *columns]
    rows = []
    for count in range(1, len(every) + 1):
        scores = prism_mt.score(outputs, ref=every[:count], lang="en", metrics="bleu")["bleu"]
        rows.append((count, len(chosen), pearson(judgments.system_means(), scores.system_scores)))
    return Table((number("references", 0), number("segments", 0), number("Pearson", 3)), tuple(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("PRISM_DATA", Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--data", type=Path, default=default, help="folder with judgments/")
    print(render(table(parser.parse_args().data / "judgments")), end="")


if __name__ == "__main__":
    main()
