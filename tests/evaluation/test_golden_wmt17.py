"""WMT17 segment level to English, Pearson, computed from the texts (Mathur et al. 2019, table 2)."""

import pytest
from judging import opened
from metaeval_data import Read

from prism_mt.evaluation.judge import judge_scores
from prism_mt.evaluation.scoring import score_texts
from prism_mt.metrics.sacrebleu import Bleu, Chrf

PUBLISHED_CHRF = {
    "cs-en": 0.514,
    "de-en": 0.531,
    "fi-en": 0.671,
    "lv-en": 0.525,
    "ru-en": 0.599,
    "tr-en": 0.607,
    "zh-en": 0.591,
}
# The paper has .435 .432 .571 .393 .484 .538 .512 with another smoothing; these are with effective order.
BLEU = {
    "cs-en": 0.426,
    "de-en": 0.416,
    "fi-en": 0.565,
    "lv-en": 0.386,
    "ru-en": 0.465,
    "tr-en": 0.549,
    "zh-en": 0.505,
}


@pytest.mark.parametrize("pair", list(PUBLISHED_CHRF))
def test_chrf_and_sentence_bleu(read: Read, pair: str) -> None:
    judgments = read("wmt17_da_seg.tsv.xz")[pair]
    assert judgments.judged().sum() == 560
    metrics = [score_texts(opened(one, pair), judgments, only_judged=True) for one in (Chrf(), Bleu())]
    evaluation = judge_scores(judgments, metrics, protocol="wmt17-seg")
    values = {result.metric: result.value for result in evaluation.results}
    assert values["chrf"] == pytest.approx(PUBLISHED_CHRF[pair], abs=0.004)
    assert f"{values['bleu']:.3f}" == f"{BLEU[pair]:.3f}"
    assert evaluation.is_top(evaluation.results[0])
    assert [result.metric for result in evaluation.results if evaluation.is_top(result)] == ["chrf"]
