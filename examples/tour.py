"""The whole tour in Python, offline, on the bundled example: score, compare, judge, explain, generate, choose."""

from pathlib import Path

import prism_mt as prism

DATA = Path(__file__).parent / "wmt21-en-de"
SEGMENTS = 12


def read(name: str) -> list[str]:
    """The first segments of a file of the example."""
    return (DATA / name).read_text(encoding="utf-8").splitlines()[:SEGMENTS]


def tour(folder: Path) -> None:
    """Show every step; files are written into the folder."""
    references, sources = read("ref.de"), read("src.en")
    systems = {name: read(f"system-{name.lower()}.de") for name in "ABC"}

    # Score three systems with several metrics; a metric object carries its options.
    metrics: list[str | prism.Metric] = [prism.PrismRef(), prism.PrismRef(direction="forward"), "chrf", "ter"]
    scores = prism.score(systems, ref=references, src=sources, lang="de", src_lang="en", metrics=metrics)
    print(scores)
    best = scores["prism-ref"]["A"]
    print(best.signature, best.segments[:3])
    scores.save(folder / "scores.npz")
    assert list(prism.Scores.load(folder / "scores.npz")) == list(scores)

    # Which system is better, and could it be chance?
    comparison = prism.compare(scores, baseline="A")
    print("\n".join(comparison.verdicts))
    comparison.to_html(folder / "report.html")

    # Why is a score what it is?
    print(prism.explain(systems["B"][0], ref=references[0], lang="de"))

    # The same model translates and paraphrases; a metric chooses among candidates.
    print(prism.translate(sources[:2], to="de"))
    candidates = [[system[number] for system in systems.values()] for number in range(SEGMENTS)]
    chosen = prism.rerank(candidates, metric="chrf")
    print([found[0].text for found in chosen[:2]])

    # Which metric agrees with people? Judgments of a few segments, written for the example.
    judged = folder / "judged_en-de.tsv"
    rows = ["lp\tsystem\tsegment\tscore\tsrc\tref\thyp"]
    for rank, (name, outputs) in enumerate(systems.items()):
        rows += [
            f"en-de\t{name}\t{number + 1}\t{-rank - number % 3}\t{sources[number]}\t{references[number]}\t{text}"
            for number, text in enumerate(outputs)
        ]
    judged.write_text("\n".join(rows) + "\n", encoding="utf-8")
    print(prism.judge(prism.read_judgments(judged), ["chrf", "ter", "sentinel-ref-length"], draws=50))

    # Is a bitext parallel?
    print(prism.filter(sources[:2], references[:2], src_lang="en", lang="de"))


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as made:
        tour(Path(made))
