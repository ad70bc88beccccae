"""Metrics that come with the embedded model."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from made import make_model

from prism_mt import PrismError, make_metric, score
from prism_mt.metrics.embedded import Esim, PrismMix
from prism_mt.models.directory import write_model

REFERENCES = ["The committee will meet on Tuesday.", "He lost his keys in the park."]
OUTPUTS = ["The panel gathers on Tuesday.", "He found a coin in the park."]


def test_the_mix_is_the_weighted_sum_of_its_parts(tmp_path: Path) -> None:
    folder = str(write_model(make_model(max_positions=64), tmp_path / "made").folder)
    found = score(
        OUTPUTS,
        ref=REFERENCES,
        lang="en",
        metrics=[f"prism-mix[model={folder},match_weight=3,learned_weight=2]", "prism-ref", "bertscore", "esim"],
        model=folder,
    )
    mix, prism, matches, learned = (one.segments[0] for one in found.values())
    np.testing.assert_allclose(mix, prism + 3 * matches + 2 * learned, atol=1e-6)
    systems = [one.system_scores[0] for one in found.values()]
    assert systems[0] == pytest.approx(systems[1] + 3 * systems[2] + 2 * systems[3], abs=1e-6)


def test_a_weight_of_zero_leaves_a_part_out() -> None:
    names = [metric.name for _, metric in PrismMix(learned_weight=0).sum.terms]
    assert names == ["prism-ref", "bertscore"]


def test_the_mix_needs_a_language_and_a_weight_that_is_not_negative() -> None:
    assert PrismMix().needs_language
    with pytest.raises(PrismError, match="match_weight"):
        make_metric("prism-mix[match_weight=-1]")


def test_esim_orders_outputs_whatever_the_model(tmp_path: Path) -> None:
    other = str(write_model(make_model(max_positions=64), tmp_path / "made").folder)
    systems = {"copy": REFERENCES, "near": OUTPUTS, "wrong": ["Fish swim.", "We sold the red car."]}
    found = score(systems, ref=REFERENCES, lang="en", metrics="esim")
    copy, near, wrong = found["esim"].system_scores
    assert copy > near > wrong
    beside = score(systems, ref=REFERENCES, lang="en", metrics=["esim", "prism-ref"], model=other)
    np.testing.assert_array_equal(beside["esim"].segments, found["esim"].segments)


def test_learned_metrics_need_no_torch() -> None:
    code = (
        "import sys; sys.modules['torch'] = None; import prism_mt; "
        "print(prism_mt.score(['A cat.'], ref=['A cat.'], lang='en', metrics='esim').item().score)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert np.isfinite(float(run.stdout))


def test_paraphrases_join_the_references_of_esim(tmp_path: Path) -> None:
    lists = tmp_path / "paraphrases.jsonl"
    rows = [
        {"source": reference, "paraphrases": [{"text": text, "score": -1.0}]}
        for reference, text in zip(REFERENCES, OUTPUTS, strict=True)
    ]
    lists.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = score(
        OUTPUTS, ref=REFERENCES, lang="en", metrics=[f"paresim[paraphrase_file={lists},paraphrases=1]", "esim"]
    )
    with_paraphrases, plain = (one.segments[0] for one in found.values())
    copies = score(OUTPUTS, ref=OUTPUTS, lang="en", metrics="esim").item().segments
    np.testing.assert_allclose(with_paraphrases, (plain + copies) / 2, atol=1e-5)


def test_what_esim_is() -> None:
    assert Esim().label == "esim"
    assert Esim().models == {"mini"}
    assert Esim().spec.kind == "esim"


@pytest.mark.parametrize("metric", ["esim", "prism-mix", "bertscore", "prism-ref"])
def test_overlong_texts(metric: str) -> None:
    long = " ".join(REFERENCES * 60)
    with pytest.raises(PrismError, match="overlong="):
        score([long], ref=[long], lang="en", metrics=metric)
    found = score([long], ref=[long], lang="en", metrics=f"{metric}[overlong=window]").item()
    assert np.isfinite(found.score)
    assert "long:window" in found.signature
