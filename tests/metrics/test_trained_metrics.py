"""Metrics in the folders that `prism metric train` writes."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the extra train")

from metric_runs import configure, scores_of

from prism_mt._core.errors import PrismError
from prism_mt.cli.main import main
from prism_mt.metrics.registry import make_metric, make_metrics
from prism_mt.metrics.score import score
from prism_mt.training.api import train_metric


def test_paraphrased_references_are_averaged(run: Path) -> None:
    train_metric(configure(run, limits__epochs=1))
    listed = '{"source": "the dog barks loudly", "hypotheses": [{"text": "a black dog", "score": -1.0}]}\n'
    (run / "paraphrases.jsonl").write_text(listed, "utf-8")
    options = {"paraphrases": 1, "paraphrase_file": run / "paraphrases.jsonl"}
    metric = make_metric(f"par:{run / 'out'}", options)
    par = score(["the dog"], ref=["the dog barks loudly"], lang="en", metrics=metric).item().score
    both = [
        score(["the dog"], ref=[text], lang="en", metrics=str(run / "out")).item().score
        for text in ("the dog barks loudly", "a black dog")
    ]
    assert par == pytest.approx(sum(both) / 2, abs=1e-6)


def test_the_source_in_place_of_the_reference(run: Path) -> None:
    train_metric(configure(run, limits__epochs=1))
    by_reference = score(["a cat"], ref=["the dog"], lang="en", metrics=str(run / "out")).item()
    by_source = score(["a cat"], src=["the dog"], lang="en", metrics=f"src:{run / 'out'}").item()
    assert by_source.score == pytest.approx(by_reference.score, abs=1e-6)
    assert make_metric(f"src:{run / 'out'}").needs == {"src"}
    assert "|trained:ref|" in by_source.signature
    (run / "bert" / "README.md").write_text("---\nlanguage: en\n---\n", "utf-8")
    with pytest.raises(PrismError, match="bert does not support de; it supports en"):
        score(["a cat"], src=["the dog"], lang="en", src_lang="de", metrics=f"src:{run / 'out'}")
    with pytest.raises(PrismError, match="does not support de; it supports en"):
        score(["a cat"], ref=["the dog"], lang="de", metrics=str(run / "out"))


def test_sources_cannot_be_paraphrased(run: Path) -> None:
    for name in ("train.tsv", "dev.tsv"):
        text = (run / name).read_text("utf-8")
        (run / name).write_text(text.replace("ref\t", "src\t"), "utf-8")
    train_metric(configure(run, limits__epochs=1, side="src"))
    with pytest.raises(PrismError, match="there are no references to paraphrase"):
        make_metric(f"par:{run / 'out'}")


def test_score_takes_the_folder_and_sums_of_it(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train_metric(configure(run, limits__epochs=1))
    for name, text in (("cand", "the dog\ncat\n"), ("ref", "the dog barks\nthe cat\n")):
        (run / name).write_text(text, "utf-8")
    capsys.readouterr()
    names = [str(run / "out"), "bertr", f"0.5*bertr+2*{run / 'out'}"]
    command = ["score", "--cand", str(run / "cand"), "--ref", str(run / "ref"), "--lang", "en", "--format", "json"]
    assert main([*command, "--encoder", str(run / "bert"), "--metric", *names]) == 0
    results = json.loads(capsys.readouterr().out)
    esim, bertr, both = (float(result["score"]) for result in results["results"])
    assert both == pytest.approx(0.5 * bertr + 2 * esim, abs=1e-6)


def test_damaged_descriptions_and_networks_are_refused(run: Path) -> None:
    train_metric(configure(run, limits__epochs=1))
    path = run / "out" / "metric.json"
    whole = path.read_text("utf-8")
    for text, message in [
        ("[1]", "expected a JSON object"),
        ("[" * 100_000, "cannot read"),
        (whole.replace('"hidden": 12', '"hidden": 13'), "does not have the network that metric.json describes"),
        (whole.replace('"hidden": 12', '"hidden": -12'), "does not have the network that metric.json describes"),
    ]:
        path.write_text(text, "utf-8")
        with pytest.raises(PrismError, match=message):
            scores_of(run)


def test_two_metrics_of_one_kind_have_two_names(run: Path) -> None:
    for seed, output in ((1, "one"), (2, "two")):
        train_metric(configure(run, limits__epochs=1, seed=seed, output=output))
    labels = [metric.label for metric in make_metrics([str(run / "one"), str(run / "two")])]
    assert labels == [str(run / "one"), str(run / "two")]


def test_long_texts_are_cut_with_a_warning(run: Path, caplog: pytest.LogCaptureFixture) -> None:
    train_metric(configure(run, limits__epochs=1, pieces=3))
    scores_of(run)
    assert caplog.text.count("reads the first 3 pieces of longer texts") == 1
