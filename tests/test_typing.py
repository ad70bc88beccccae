"""Clients of the public interface type-check, and their mistakes do not."""

import subprocess
import sys
from pathlib import Path

_GOOD = """
from pathlib import Path
import prism_mt as prism
chosen: list[str | prism.Metric] = [prism.PrismRef(direction="both"), "chrf"]
scores: prism.Scores = prism.score({"A": ["x"]}, ref=["y"], lang="de", metrics=chosen)
one: prism.SystemScores = scores["chrf"]["A"]
number: float = one.score
comparison = prism.compare(scores, test="bootstrap", draws=100)
comparison.to_html("report.html")
prism.judge(prism.read_judgments("x.jsonl"), ["prism-ref", prism.Chrf(beta=3)], protocol="wmt21-mqm", reference="refA")
prism.explain("a", ref="b", lang="en").traces
texts: list[str] = prism.translate(["a"], to="de")
best = prism.translate(["a"], to="de", n=5)[0][0].text
prism.paraphrase(["a"], lang="de", n=5, search=None, config=prism.EngineConfig(precision="int8"))
prism.rerank([["a", "b"]], metric=prism.Ter())
prism.filter(["a"], ["b"], src_lang="en", lang="de")
prism.load_model("mini").score(["a"], ref=["b"], lang="en").item().segments.mean()
prism.prepare_corpus("corpus.toml", workers=2)
prism.train("train.toml", minutes=1.0)
prism.finetune("finetune.toml", model="mini")
prism.train_metric("metric.toml")
prism.Prism(model_dir="mini", lang="en").score(cand=["a"], ref=["b"])
loaded: prism.LoadedModel = prism.load_model("mini", config=prism.EngineConfig(threads=1))
found: prism.MetricScores = scores["chrf"]
shared = prism.Runtime(prism.EngineConfig(device="cpu"))
prism.score(["x"], src=["y"], lang="de", src_lang="en", metrics=prism.make_metric("1*ter+1*ter"), runtime=shared)
named: type[prism.Metric] = prism.list_metrics()["ter"]
prism.Combined(terms=((0.5, prism.Bleu()), (0.5, prism.ChrfPlusPlus())))
several = [prism.PrismSrc(model="mini"), prism.PrismDual(), prism.Laser(encoder="e5"), prism.Bertr(), prism.BertScore()]
more = [prism.ParBleu(paraphrases=3), prism.ParChrf(), prism.LanguageModelMetric(), prism.Learned(folder=Path("esim"))]
accuracies = prism.challenge("builtin", ["chrf"], languages=["de"], segments=3).tables()
again: prism.Reproduction = prism.reproduce("vamvas2023/table3", model="mini")
try:
    prism.filter(["a"], ["b"], src_lang="en", lang="de", threshold=0.1)
except prism.PrismError as error:
    raise ValueError(str(error)) from error

@prism.register("words")
class Words(prism.Metric):
    def open(self, runtime: prism.Runtime, languages: object) -> prism.Scorer:
        raise NotImplementedError

def segment(one: prism.SegmentScore) -> float:
    return one.score
"""
_BAD = {
    "misspelled option of score": 'prism.score(["a"], reff=["b"])',
    "misspelled option of a metric": 'prism.PrismRef(direktion="both")',
    "value that the option does not have": 'prism.PrismRef(direction="up")',
    "number for a string": "prism.explain(1, ref='b', lang='en')",
    "missing language": 'prism.translate(["a"])',
    "unknown test": 'prism.compare(prism.Scores([]), test="t-test")',
    "misspelled engine option": 'prism.EngineConfig(presicion="int8")',
    "unknown name": "prism.scores_all()",
    "number for the texts": "prism.paraphrase(1, lang='de')",
    "misspelled option of judge": "prism.judge([], ['chrf'], protokoll='wmt21-mqm')",
    "misspelled option of rerank": "prism.rerank([['a']], metrics='chrf')",
    "missing languages of filter": "prism.filter(['a'], ['b'])",
    "text for minutes": "prism.train('train.toml', minutes='5')",
    "misspelled option of finetune": "prism.finetune('x.toml', modell='mini')",
    "number for a configuration": "prism.train_metric(3)",
    "text for workers": "prism.prepare_corpus('x.toml', workers='2')",
    "misspelled option of challenge": "prism.challenge('builtin', segment=3)",
    "number for a study": "prism.reproduce(3)",
    "number for a model's name": "prism.load_model(3)",
    "number for a file of judgments": "prism.read_judgments(3)",
}


def check(folder: Path, text: str) -> str:
    file = folder / "client.py"
    file.write_text(text)
    words = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        "--cache-dir",
        str(folder / "cache"),
        str(file),
    ]
    return subprocess.run(words, capture_output=True, text=True, cwd=folder).stdout


def test_clients(tmp_path: Path) -> None:
    assert not [line for line in check(tmp_path, _GOOD).splitlines() if "client.py" in line]
    lines = ["import prism_mt as prism", *_BAD.values()]
    found = check(tmp_path, "\n".join(lines) + "\n")
    for number, mistake in enumerate(_BAD, start=2):
        assert f"client.py:{number}: error" in found, f"{mistake} passes:\n{found}"
