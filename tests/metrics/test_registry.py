"""Names of metrics, options in brackets, folders, sums, and traits that nobody guesses."""

from dataclasses import dataclass

import pytest

from prism_mt import PrismError
from prism_mt._core.options import option
from prism_mt.metrics.base import Languages, Metric, Scorer
from prism_mt.metrics.combined import Combined
from prism_mt.metrics.prism import PrismRef
from prism_mt.metrics.registry import list_metrics, make_metric, make_metrics, option_fields, register
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.sacrebleu import Bleu, Chrf, Ter


def test_every_metric_has_a_name_a_summary_and_options() -> None:
    for name, kind in list_metrics().items():
        assert kind.name == name
        assert (kind.__doc__ or "").strip(), name
    assert {"prism-ref", "prism-src", "bleu", "chrf", "chrf++", "ter", "bertscore", "lm"} <= set(list_metrics())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("chrf", Chrf()),
        ("BLEU", Bleu()),
        ("chrf[word_order=1,beta=3]", Chrf(word_order=1, beta=3)),
        ("bleu[lowercase=true]", Bleu(lowercase=True)),
        ("prism-ref[direction=forward, forward_weight=0.25]", PrismRef(direction="forward", forward_weight=0.25)),
        ("1*ter", Combined(terms=((1.0, Ter()),))),
    ],
)
def test_names_stand_for_metrics(text: str, expected: Metric) -> None:
    assert make_metric(text) == expected
    assert make_metric(expected.label) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chfr", "no metric and no folder of a learned metric is named 'chfr'; did you mean 'chrf'"),
        ("chrf[word_ordr=1]", "no option 'word_ordr'; did you mean 'word_order'"),
        ("chrf[word_order=two]", "word_order must be of type int, not 'two'"),
        ("chrf[word_order=99]", "word_order must be between 0 and 20, not 99"),
        ("prism-ref[direction=up]", "must be one of forward, backward, both"),
        ("bleu[lowercase]", "write options as NAME=VALUE"),
        ("0.5*bleu+0.5*ter", "give one kind negative weights"),
        ("0*bleu", "all weights are 0"),
        ("half*bleu", "is not a weighted sum"),
    ],
)
def test_mistakes_in_names(text: str, message: str) -> None:
    with pytest.raises(PrismError, match=message.replace("[", r"\[")):
        make_metric(text)


def test_shared_options_go_to_the_metrics_that_have_them() -> None:
    made = make_metrics(["prism-ref", "prism-src", "chrf"], {"model": "other", "word_order": 2})
    assert [getattr(metric, "model", None) for metric in made] == ["other", "other", None]
    assert made[2] == Chrf(word_order=2)
    with pytest.raises(PrismError, match="`tokenize=` is an option of bleu, which is not requested"):
        make_metrics(["chrf"], {"tokenize": "13a"})
    with pytest.raises(PrismError, match="no metric has an option 'modle'; did you mean 'model'"):
        make_metrics(["chrf"], {"modle": "x"})
    # An option of a metric within a sum counts, too.
    assert make_metrics(["1*chrf"], {"beta": 3}) == (Combined(terms=((1.0, Chrf(beta=3)),)),)


def test_direction_of_sums() -> None:
    assert make_metric("1*ter").lower_is_better
    assert not make_metric("-1*ter").lower_is_better
    assert not make_metric("0.5*bleu+-0.5*ter").lower_is_better


def test_options_of_one_name_are_one_option(monkeypatch: pytest.MonkeyPatch) -> None:
    from prism_mt.metrics import registry

    monkeypatch.setattr(registry, "_METRICS", dict(registry._METRICS))
    list_metrics()

    @register("rival")
    @dataclass(frozen=True, kw_only=True)
    class Rival(Metric):
        """A metric that means something else by `beta`."""

        beta: float = option("something else", 1.0)

        def open(self, runtime: Runtime, languages: Languages) -> Scorer:
            raise NotImplementedError

    with pytest.raises(
        PrismError, match="the option beta of the metric rival differs from that of chrf: rename it"
    ):
        registry._check_options()


def test_every_option_has_a_help_text() -> None:
    for name, (field, _, owners) in option_fields().items():
        assert field.metadata["help"], (name, owners)


def test_a_required_option_is_asked_for() -> None:
    with pytest.raises(PrismError, match="learned needs `folder=`"):
        make_metric("learned")
