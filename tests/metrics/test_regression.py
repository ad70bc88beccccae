import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from tiny_bert import make_bert  # noqa: E402

from prism_mt.cli.main import main  # noqa: E402
from prism_mt.errors import PrismError  # noqa: E402
from prism_mt.metrics.base import Segment, Side  # noqa: E402
from prism_mt.metrics.catalogue import Setting, make_metric  # noqa: E402
from prism_mt.metrics.paraphrased import ParaphraseOptions  # noqa: E402
from prism_mt.metrics.regression import MetricSpec, RegressionMetric  # noqa: E402
from prism_mt.metrics.regression_network import (  # noqa: E402
    KINDS,
    BiLSTM,
    Kind,
    LayerMix,
    RegressionNetwork,
    attend,
    max_pool,
    mean_pool,
    pad,
)

Array = Any


def softmax(values: Array, axis: int) -> Array:
    powers = np.exp(values - values.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def plain_attention(one: Array, other: Array) -> tuple[Array, Array]:
    """The equations, piece by piece, for one pair of unpadded texts."""
    products = one @ other.T
    return (
        np.stack([sum(w * h for w, h in zip(softmax(row, 0), other, strict=True)) for row in products]),
        np.stack([sum(w * h for w, h in zip(softmax(row, 0), one, strict=True)) for row in products.T]),
    )


def plain_score(network: RegressionNetwork, translation: Array, reference: Array) -> float:
    """The paper's equations for one pair (layers × pieces × width each); the LSTMs alone are torch's."""
    weights = {name: value.detach().double().numpy() for name, value in network.state_dict().items()}

    def read(lstm: BiLSTM, vectors: Array) -> Array:
        with torch.no_grad():
            return lstm.lstm(torch.tensor(vectors, dtype=torch.float32)[None])[0][0].double().numpy()

    mix = softmax(weights["mix.weight"], 0)
    t, r = (read(network.encoder, np.tensordot(mix, side, 1)) for side in (translation, reference))
    if network.kind == "esim":
        composed = []
        for own, other in zip((t, r), plain_attention(t, r), strict=True):
            m = np.concatenate([own, other, own * other, own - other], axis=1)
            projected = np.maximum(m @ weights["projection.weight"].T + weights["projection.bias"], 0)
            composed.append(read(network.composition, projected))
        t, r = composed
        features = np.concatenate([r.mean(0), r.max(0), t.mean(0), t.max(0)])
    else:
        if network.kind == "bilstm-attention":
            t, r = plain_attention(t, r)
        v_t, v_r = (np.concatenate([side.max(0), side.mean(0)]) for side in (t, r))
        features = np.concatenate([v_t, v_r, v_t * v_r, v_t - v_r])
    inner = np.maximum(weights["inner.weight"] @ features + weights["inner.bias"], 0)
    return float(weights["outer.weight"][0] @ inner + weights["outer.bias"][0])


def make_network(kind: Kind) -> RegressionNetwork:
    torch.manual_seed(7)
    network = RegressionNetwork(kind, layers=3, width=5, hidden=4)
    with torch.no_grad():
        network.mix.weight.copy_(torch.tensor([0.3, -1.0, 0.8]))
    return network.eval()


def texts(*lengths: int) -> list[Array]:
    generator = np.random.default_rng(1)
    return [generator.normal(size=(3, length, 5)).astype(np.float32) for length in lengths]


def score(network: RegressionNetwork, hypotheses: list[Array], references: list[Array], limit: int = 100) -> Any:
    (t, t_mask), (r, r_mask) = pad(hypotheses, limit), pad(references, limit)
    return network(t, r, t_mask, r_mask)


@pytest.mark.parametrize("kind", KINDS)
def test_every_equation_in_a_padded_batch(kind: Kind) -> None:
    network = make_network(kind)
    hypotheses, references = texts(4, 1, 6), texts(2, 7, 3)
    expected = [plain_score(network, *pair) for pair in zip(hypotheses, references, strict=True)]
    assert score(network, hypotheses, references).tolist() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_padding_never_changes_a_score(kind: Kind) -> None:
    network = make_network(kind)
    (t, t_mask), (r, r_mask) = pad(texts(4), 100), pad(texts(3), 100)
    alone = network(t, r, t_mask, r_mask)
    rubbish = torch.full((1, 3, 5, 5), 9.0)
    no = torch.zeros(1, 5, dtype=torch.bool)
    padded = network(
        torch.cat([t, rubbish], 2),
        torch.cat([r, rubbish], 2),
        torch.cat([t_mask, no], 1),
        torch.cat([r_mask, no], 1),
    )
    assert padded.tolist() == pytest.approx(alone.tolist(), abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind: Kind) -> None:
    """Analytic against numeric gradients of some entries of every parameter, in float64."""
    network = make_network(kind).double()
    (t, t_mask), (r, r_mask) = pad(texts(4, 2), 100), pad(texts(3, 5), 100)

    def loss() -> Any:
        return network(t.double(), r.double(), t_mask, r_mask).square().sum()

    loss().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None
        flat, gradient = parameter.data.view(-1), parameter.grad.view(-1)
        for place in {0, len(flat) // 2, len(flat) - 1}:
            kept = float(flat[place])
            values = []
            for change in (1e-6, -1e-6):
                flat[place] = kept + change
                values.append(loss().item())
            flat[place] = kept
            assert float(gradient[place]) == pytest.approx((values[0] - values[1]) / 2e-6, abs=1e-6), name


def test_pooling_and_attention_by_hand() -> None:
    states = torch.tensor([[[1.0, -4.0], [3.0, -2.0], [99.0, 99.0]]])
    mask = torch.tensor([[True, True, False]])
    assert mean_pool(states, mask).tolist() == [[2.0, -3.0]]
    assert max_pool(states, mask).tolist() == [[3.0, -2.0]]
    # One piece of the other side is real: all attention goes there. Its products with 1 and 3 are 1 and 3.
    other = torch.tensor([[[1.0, 0.0], [50.0, 0.0]]])
    to_other, to_one = attend(states, other, mask, torch.tensor([[True, False]]))
    assert to_other[0, :2].tolist() == [[1.0, 0.0], [1.0, 0.0]]
    share = math.exp(1) / (math.exp(1) + math.exp(3))
    assert to_one[0, 0].tolist() == pytest.approx([share + 3 * (1 - share), -4 * share - 2 * (1 - share)])


def test_layers_are_mixed_and_lstms_start_as_published() -> None:
    mix = LayerMix(2)
    with torch.no_grad():
        mix.weight.copy_(torch.tensor([0.0, math.log(3)]))
    assert mix(torch.tensor([[[[4.0]], [[8.0]]]])).item() == pytest.approx(0.25 * 4 + 0.75 * 8)
    lstm: Any = BiLSTM(6, 4).lstm
    assert (lstm.bias_ih_l0 + lstm.bias_hh_l0).tolist() == [0.0] * 4 + [1.0] * 4 + [0.0] * 8
    assert torch.allclose(lstm.weight_hh_l0.T @ lstm.weight_hh_l0, torch.eye(4), atol=1e-5)
    assert lstm.weight_ih_l0.abs().max().item() <= math.sqrt(6 / (6 + 16))


def test_long_texts_are_cut_and_empty_ones_scored() -> None:
    network = make_network("esim")
    long, short, empty = (*texts(6, 2), np.zeros((3, 0, 5), np.float32))
    assert score(network, [long], [short], 4).tolist() == score(network, [long[:, :4]], [short]).tolist()
    assert score(network, [empty], [short]).isfinite().all()


def test_dropout_is_the_papers_unless_said() -> None:
    shares = {kind: RegressionNetwork(kind, 3, 5, 4).dropout.p for kind in KINDS}
    assert shares == {"bilstm": 0.0, "bilstm-attention": 0.0, "esim": 0.5}
    inputs, masks = [torch.ones(1, 3, 4, 5)] * 2, [torch.ones(1, 4, dtype=torch.bool)] * 2
    for settings in ({"input_dropout": 0.5}, {"dropout": 0.5}):
        network = RegressionNetwork("bilstm", 3, 5, 4, **settings)
        scores = {network(*inputs, *masks).item() for _ in range(8)}
        assert len(scores) > 1, settings
        network.eval()
        assert len({network(*inputs, *masks).item() for _ in range(3)}) == 1


class MadeEncoder:
    """An encoder of texts that are numbers: so many pieces, at most 7."""

    name, digest, layers, width = "made", "0" * 64, 3, 5

    def encode(self, texts: Sequence[str]) -> list[Array]:
        made = [np.random.default_rng(int(text)) for text in texts]
        return [
            numbers.normal(size=(3, int(text) % 8, 5)).astype(np.float32)
            for text, numbers in zip(texts, made, strict=True)
        ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("side", ["ref", "src"])
def test_a_text_is_read_once_and_scores_are_those_of_single_pairs(
    kind: Kind, side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, encoder = make_network(kind), MadeEncoder()
    spec = MetricSpec(kind, "made", encoder.digest, "en", 3, 5, 4, pieces=5)
    pairs = [(str(one), str(other)) for one in range(11) for other in range(20)] * 2
    wanted = [score(network, encoder.encode([one]), encoder.encode([other]), 5).item() for one, other in pairs]
    read: list[int] = []
    original = network.read

    def counted(text: Any, mask: Any) -> Any:
        read.append(len(text))
        return original(text, mask)

    monkeypatch.setattr(network, "read", counted)
    metric = RegressionMetric(spec, network, encoder, of_sources=MadeEncoder() if side == "src" else None)
    np.testing.assert_allclose(metric.compare(pairs), wanted, atol=1e-5)
    assert sum(read) == (11 + 20 if side == "src" else 20)


TRUTH = {"the dog barks": 1.0, "a dog barks": 0.6, "the black cat": -0.5, "cat": -1.1}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an encoder, judgments and a configuration."""
    pytest.importorskip("transformers", reason="needs the extra hf")
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path / "cache"))
    make_bert(tmp_path / "bert")
    rows = [f"the dog barks loudly\t{text}\t{score}\tx\n" for text, score in TRUTH.items()]
    for name in ("train.tsv", "dev.tsv"):
        (tmp_path / name).write_text("ref\thyp\tscore\tnote\n" + "".join(rows * 3), "utf-8")
    return tmp_path


def configure(folder: Path, **settings: object) -> Path:
    values: dict[str, object] = {"train": ["train.tsv"], "dev": ["dev.tsv"], "output": "out"}
    values |= {"encoder": str(folder / "bert")}
    values |= {"hidden": 6, "batch": 4, "epochs": 6, "rate": 0.02, "patience": 20, **settings}
    path = folder / "run.toml"
    path.write_text("".join(f"{name} = {value!r}\n" for name, value in values.items()), "utf-8")
    return path


def scores_of(folder: Path, name: str = "out") -> list[float]:
    metric = make_metric(str(folder / name), Setting("en"))
    return [one.score for one in metric.score(Segment(text, ("the dog barks loudly",)) for text in TRUTH)]


@pytest.mark.parametrize(("kind", "loss"), [("esim", "mse"), ("bilstm", "ranking"), ("bilstm-attention", "mse")])
def test_a_trained_metric_has_learned(run: Path, kind: str, loss: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metric", "train", str(configure(run, kind=kind, loss=loss, epochs=12))]) == 0
    assert "dev Pearson" in capsys.readouterr().out
    found = scores_of(run)
    assert np.corrcoef(found, list(TRUTH.values()))[0, 1] > 0.8
    metric = make_metric(str(run / "out"), Setting("en"))
    assert metric.signature().startswith(f"{kind}|weights:")


def test_a_resumed_run_is_the_same_run(run: Path) -> None:
    assert main(["metric", "train", str(configure(run, epochs=4, output="whole"))]) == 0
    assert main(["metric", "train", str(configure(run, epochs=2))]) == 0
    assert main(["metric", "train", str(configure(run, epochs=4))]) == 0
    whole, halves = (torch.load(run / name / "state.pt", weights_only=True) for name in ("whole", "out"))
    assert whole["progress"] == halves["progress"]
    for name, tensor in whole["network"].items():
        assert torch.equal(tensor, halves["network"][name]), name


def test_a_run_can_start_from_another_metric(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metric", "train", str(configure(run, epochs=12, output="first"))]) == 0
    before = scores_of(run, "first")
    assert main(["metric", "train", str(configure(run, epochs=1, rate=1e-9, start="first"))]) == 0
    np.testing.assert_allclose(scores_of(run), before, atol=1e-4)
    assert main(["metric", "train", str(configure(run, kind="bilstm", start="first", output="other"))]) == 2
    assert "its kind is esim, here it is bilstm" in capsys.readouterr().err


def test_paraphrased_references_are_averaged(run: Path) -> None:
    assert main(["metric", "train", str(configure(run, epochs=1))]) == 0
    listed = '{"source": "the dog barks loudly", "hypotheses": [{"text": "a black dog", "score": -1.0}]}\n'
    (run / "paraphrases.jsonl").write_text(listed, "utf-8")
    setting = Setting("en", paraphrases=ParaphraseOptions(1, file=run / "paraphrases.jsonl"))
    segment = Segment("the dog", ("the dog barks loudly",), number=1)
    (par,) = make_metric(f"par:{run / 'out'}", setting).score([segment])
    plain = make_metric(str(run / "out"), Setting("en"))
    both = [
        next(plain.score([Segment("the dog", (text,))])).score for text in (segment.references[0], "a black dog")
    ]
    assert par.score == pytest.approx(sum(both) / 2, abs=1e-6)


def test_a_trained_metric_with_the_source_in_place_of_the_reference(run: Path) -> None:
    assert main(["metric", "train", str(configure(run, epochs=1))]) == 0
    by_reference, by_source = (
        next(make_metric(f"{way}{run / 'out'}", Setting("en")).score([segment])).score
        for way, segment in (("", Segment("a cat", ("the dog",))), ("src:", Segment("a cat", ("?",), "the dog")))
    )
    assert by_source == by_reference
    metric = make_metric(f"src:{run / 'out'}", Setting("en"))
    assert metric.name == "esim-src"
    assert metric.needs == {"src"}
    assert "|trained:ref|" in metric.signature()
    (run / "bert" / "README.md").write_text("---\nlanguage: en\n---\n", "utf-8")
    with pytest.raises(PrismError, match="bert knows en only"):
        make_metric(f"src:{run / 'out'}", Setting("en"))
    with pytest.raises(PrismError, match="does not know de; it knows en"):
        make_metric(str(run / "out"), Setting("de"))


def test_training_on_sources(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metric", "train", str(configure(run, epochs=1, side="src"))]) == 2
    assert "must name the columns src, hyp, score: there is no src" in capsys.readouterr().err
    for name in ("train.tsv", "dev.tsv"):
        text = (run / name).read_text("utf-8")
        (run / name).write_text(text.replace("ref\t", "src\t"), "utf-8")
    assert main(["metric", "train", str(configure(run, epochs=1, side="src"))]) == 0
    metric = make_metric(str(run / "out"), Setting("en"))
    assert metric.needs == {"src"}
    assert next(metric.score([Segment("a cat", source="the dog")])).score < 9
    with pytest.raises(PrismError, match="there are no references to paraphrase"):
        make_metric(f"par:{run / 'out'}", Setting("en"))


def test_score_takes_the_folder_of_a_trained_metric(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metric", "train", str(configure(run, epochs=1))]) == 0
    for name, text in (("cand", "the dog\ncat\n"), ("ref", "the dog barks\nthe cat\n")):
        (run / name).write_text(text, "utf-8")
    capsys.readouterr()
    names = [str(run / "out"), "bertr", f"0.5*bertr+2*{run / 'out'}"]
    command = ["score", "--cand", str(run / "cand"), "--ref", str(run / "ref"), "--lang", "en", "--format", "json"]
    assert main([*command, "--encoder", str(run / "bert"), "--metric", *names]) == 0
    results = json.loads(capsys.readouterr().out)
    esim, bertr, both = (float(result["score"]) for result in results["results"])
    assert both == pytest.approx(0.5 * bertr + 2 * esim, abs=1e-6)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("ref\thyp\n", "there is no score"),
        ("ref\thyp\tscore\na\tb\tgood\n", "line 2: the score 'good' is not a number"),
        ("ref\thyp\tscore\na\tb\n", "line 2: 2 columns, expected 3"),
        ("ref\thyp\tscore\na\tb\t1\n", "at least 2 judgments"),
    ],
)
def test_bad_judgments(run: Path, content: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "train.tsv").write_text(content, "utf-8")
    assert main(["metric", "train", str(configure(run))]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("settings", [{"input_dropout": 1.0}, {"dropout": -0.1}, {"rate": 0.0}])
def test_bad_settings(run: Path, settings: dict[str, float], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metric", "train", str(configure(run, **settings))]) == 2
    assert next(iter(settings)) in capsys.readouterr().err


def test_other_settings_and_other_encoders_are_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metric", "train", str(configure(run, epochs=1))]) == 0
    assert main(["metric", "train", str(configure(run, epochs=1, hidden=5))]) == 2
    assert "other settings" in capsys.readouterr().err
    config = run / "bert" / "config.json"
    config.write_text(config.read_text("utf-8") + "\n", "utf-8")
    with pytest.raises(PrismError, match="trained with another encoder"):
        scores_of(run)
