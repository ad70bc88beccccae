"""Is the BLEU of segments in Mathur et al. 2019 that of Moses' sentence-bleu? Pearson on WMT17 into English.

    pip install sacremoses
    python benchmarks/sentence_bleu.py [--data DIR]

Lower-cased Moses tokens; one is added to matches and totals of all orders; brevity as usual.
"""

import argparse
import math
import os
from collections import Counter
from pathlib import Path

import numpy as np
from sacremoses import MosesTokenizer

import prism_mt
from prism_mt.evaluation.studies.published import read_paper
from prism_mt.report.table import Column, Table, number, render
from prism_mt.stats.correlation import Correlation


def sentence_bleu(hypothesis: list[str], reference: list[str], longest: int = 4) -> float:
    """BLEU of one segment with add-one smoothing of every order, single words included."""
    logs = []
    for order in range(1, longest + 1):
        ours, theirs = (
            Counter(zip(*(words[start:] for start in range(order)), strict=False))
            for words in (hypothesis, reference)
        )
        logs.append(math.log((1 + (ours & theirs).total()) / (1 + ours.total())))
    brevity = 1 - len(reference) / max(len(hypothesis), 1)
    return math.exp(sum(logs) / longest + min(brevity, 0.0))


def table(judged: Path) -> Table:
    """Ours beside the published Pearson, for every language pair."""
    [published] = [one for one in read_paper("mathur2019").tables if one.id.endswith("segments-to")]
    tokenizer = MosesTokenizer(lang="en")
    pearson = Correlation("pearson")
    rows = []
    for pair, value in zip(published.columns[:-1], published.rows["BLEU"], strict=False):
        judgments = prism_mt.read_judgments(judged, pair=pair)
        assert judgments.texts is not None
        [references] = judgments.texts.references.values()
        scores = np.full(judgments.scores.shape, np.nan)
        for row, column in np.argwhere(judgments.judged()).tolist():
            texts = judgments.texts.outputs[judgments.systems[row]][column], references[column]
            scores[row, column] = sentence_bleu(*(tokenizer.tokenize((text or "").lower()) for text in texts))
        rows.append((pair, pearson(judgments.scores, scores), value))
    return Table((Column("pair"), number("sentence-bleu", 3), number("published", 3)), tuple(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("PRISM_DATA", "../shared/data")))
    print(render(table(parser.parse_args().data / "judgments" / "wmt17_da_seg.tsv.xz")), end="")


if __name__ == "__main__":
    main()
