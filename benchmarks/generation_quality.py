"""How good is what a model generates? Tables from FLORES devtest, each made by one command.

    python benchmarks/generation_quality.py translate  [--model mini] [--data DIR] [--sentences N]
    python benchmarks/generation_quality.py paraphrase [--sentences 100]
    python benchmarks/generation_quality.py mbr        [--sentences 100] [--samples 32] [--temperature 0.5] [--pair LP]

translate: chrF of beam 5 in every direction between English and the model's other languages.
paraphrase: how much the first paraphrase copies (BLEU against the input) and keeps the meaning (Prism-ref), and how
different the paraphrases of a list are (share of distinct bigrams, BLEU between them), for every method.
mbr: minimum Bayes risk over samples with Prism and with chrF beside beam 5, judged by chrF and by Prism-src (a killed
run goes on); and how many comparisons a second Prism makes, on a tenth of the sentences: on torch, which encodes a
candidate once for all that are compared with it, on torch with comparisons in the order of their length, which seldom
meet, and on ct2, which encodes it for each of them.
"""

import argparse
import itertools
import json
import lzma
import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import prism_mt
from prism_mt import EngineConfig, Metric, Runtime, make_metric
from prism_mt.engines.base import EngineName
from prism_mt.generate.options import SearchConfig
from prism_mt.report.table import Column, Table, number, render

Row = tuple[str | float, ...]
METHODS = {
    "beam": SearchConfig(method="beam", n=5),
    "penalty": SearchConfig(method="penalty", n=5),
    "diverse": SearchConfig(method="diverse", n=5, beam=30, groups=10),
    "sample": SearchConfig(method="sample", n=5, top_p=0.9),
}


def flores(data: Path, count: int) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = {}
    with lzma.open(data / "heldout" / "flores200_devtest.jsonl.xz", "rt", encoding="utf-8") as handle:
        for line in itertools.islice(handle, count):
            for language, text in json.loads(line).items():
                texts.setdefault(language, []).append(text)
    return texts


def metric(name: str, model: str) -> Metric:
    return make_metric(name, {"model": model, "overlong": "truncate"})


def score(name: str, model: str, hypotheses: Sequence[str], others: Sequence[str], to: str, source: str) -> float:
    """The system score against others, which are sources or references as the metric needs them."""
    scores = prism_mt.score(
        hypotheses, ref=others, src=others, lang=to, src_lang=source, metrics=metric(name, model)
    )
    [found] = scores.values()
    return float(found.system_scores[0])


def translate(model: str, texts: dict[str, list[str]], languages: Sequence[str]) -> Table:
    rows: list[Row] = []
    for language in languages:
        if language != "en":
            into, out = (
                score("chrf", model, prism_mt.translate(texts[a], to=b, src_lang=a, model=model), texts[b], b, a)
                for a, b in ((language, "en"), ("en", language))
            )
            rows.append((language, into, out))
            print(*rows[-1], flush=True)
    return Table((Column("language"), number("into English", 1), number("from English", 1)), tuple(rows))


def distinct_bigrams(lists: Sequence[Sequence[str]]) -> float:
    shares = []
    for texts in lists:
        bigrams = [pair for text in texts for pair in itertools.pairwise(text.split() if " " in text else text)]
        shares.append(len(set(bigrams)) / max(1, len(bigrams)))
    return float(np.mean(shares))


def paraphrase(model: str, texts: dict[str, list[str]], languages: Sequence[str]) -> Table:
    rows: list[Row] = []
    for language in languages:
        inputs = texts[language]
        for name, search in METHODS.items():
            found = prism_mt.paraphrase(inputs, lang=language, n=search.n, search=search, model=model)
            lists = [[one.text for one in nbest] for nbest in found]
            first = [one[0] for one in lists]
            pairs = [pair for one in lists for pair in itertools.permutations(one, 2)]
            between = score("bleu", model, [a for a, _ in pairs], [b for _, b in pairs], language, language)
            copied = score("bleu", model, first, inputs, language, language)
            meaning = score("prism-ref", model, first, inputs, language, language)
            rows.append((language, name, copied, meaning, 100 * distinct_bigrams(lists), between))
            print(*rows[-1], flush=True)
    columns = (Column("language"), Column("method"), number("BLEU to input", 1), number("Prism-ref", 3))
    return Table((*columns, number("distinct bigrams %", 1), number("BLEU between", 1)), tuple(rows))


def mbr(
    model: str, texts: dict[str, list[str]], pair: str, samples: int, temperature: float
) -> tuple[Table, Table]:
    source, target = pair.split("-")
    inputs, references = texts[source], texts[target]
    sampling = SearchConfig(method="sample", n=samples, temperature=temperature)
    drawn = prism_mt.translate(inputs, to=target, n=samples, src_lang=source, model=model, search=sampling)
    lists = [[one.text for one in found] for found in drawn]

    def choose(name: str, runtime: Runtime, count: int) -> list[str]:
        ranked = prism_mt.rerank(
            lists[:count],
            src=inputs[:count],
            metric=metric(name, model),
            lang=target,
            src_lang=source,
            runtime=runtime,
        )
        return [found[0].text for found in ranked]

    few = max(1, len(lists) // 10)
    count = sum(len(set(found)) ** 2 for found in lists[:few])
    rates: list[Row] = []
    engines: tuple[tuple[EngineName, bool], ...] = (("torch", True), ("torch", False), ("ct2", False))
    for engine, shared in engines:
        runtime = Runtime(EngineConfig(engine=engine, cache=False))
        runtime.engine(model).shares_sources = shared  # type: ignore[misc]
        start = time.perf_counter()
        choose("prism-ref", runtime, few)
        rates.append((engine, "yes" if shared else "no", count, count / (time.perf_counter() - start)))
    outputs = {
        "beam 5": prism_mt.translate(inputs, to=target, src_lang=source, model=model),
        "first sample": [found[0] for found in lists],
        **{
            f"{samples} samples by {name}": choose(name, Runtime(), len(lists))
            for name in ("chrf", "prism-src", "prism-ref")
        },
    }
    rows = [
        (
            name,
            score("chrf", model, found, references, target, source),
            score("prism-src", model, found, inputs, target, source),
        )
        for name, found in outputs.items()
    ]
    quality = Table((Column("chosen by"), number("chrF", 1), number("Prism-src", 3)), tuple(rows))
    columns = (Column("engine"), Column("shared encodings"), number("comparisons", 0), number("a second", 0))
    return quality, Table(columns, tuple(rates))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=["translate", "paraphrase", "mbr"])
    parser.add_argument("--model", default="mini")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("PRISM_DATA", "../shared/data")))
    parser.add_argument("--sentences", type=int)
    parser.add_argument("--samples", type=int, default=32)
    parser.add_argument("--temperature", type=float, default=0.5, help="of these samples")
    parser.add_argument("--pair", default="en-de")
    options = parser.parse_args()
    texts = flores(options.data, options.sentences or (1012 if options.table == "translate" else 100))
    languages = sorted(set(Runtime().model(options.model).spec.languages) & set(texts))
    if options.table == "translate":
        tables: tuple[Table, ...] = (translate(options.model, texts, languages),)
    elif options.table == "paraphrase":
        tables = (paraphrase(options.model, texts, languages),)
    else:
        tables = mbr(options.model, texts, options.pair, options.samples, options.temperature)
    print("\n".join(map(render, tables)), end="")


if __name__ == "__main__":
    main()
