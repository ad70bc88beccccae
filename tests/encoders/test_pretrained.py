"""Folders that are not to be trusted: no code is run, nothing is fetched, nobody is asked."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny_bert import make_bert, make_gpt

from prism_mt._core.errors import PrismError
from prism_mt.encoders.factory import ALL_LAYERS, open_piece_encoder, open_sentence_encoder
from prism_mt.encoders.huggingface import TransformersEncoder
from prism_mt.metrics.lm import open_language_model
from prism_mt.models.directory import ModelDirectory

torch = pytest.importorskip("torch", reason="needs the extra hf")
library: Any = pytest.importorskip("transformers", reason="needs the extra hf")
EVIL = """
from pathlib import Path
Path({mark!r}).write_text("run")
from transformers import BertConfig, BertModel, BertTokenizer
class EvilConfig(BertConfig): model_type = "evil"
class EvilModel(BertModel): config_class = EvilConfig
class EvilTokenizer(BertTokenizer): pass
"""


def no_model() -> ModelDirectory:
    raise AssertionError("no model is wanted")


def open_lm(folder: Path) -> object:
    return open_language_model(folder, "en")


def open_pieces(folder: Path) -> object:
    return open_piece_encoder(str(folder), "en", no_model, config=ALL_LAYERS)


def open_sentences(folder: Path) -> object:
    return open_sentence_encoder(str(folder))


def make_evil(folder: Path, mark: Path, where: str) -> None:
    """A folder that transformers would run code from, if it were allowed to."""
    make_bert(folder)
    (folder / "evil.py").write_text(EVIL.format(mark=str(mark)), "utf-8")
    maps = {
        "config.json": {
            "AutoConfig": "evil.EvilConfig",
            "AutoModel": "evil.EvilModel",
            "AutoModelForCausalLM": "evil.EvilModel",
        },
        "tokenizer_config.json": {"AutoTokenizer": ["evil.EvilTokenizer", None]},
    }
    table = json.loads((folder / where).read_text())
    kind = {"model_type": "evil"} if where == "config.json" else {"tokenizer_class": "EvilTokenizer"}
    (folder / where).write_text(json.dumps({**table, **kind, "auto_map": maps[where]}), "utf-8")


@pytest.mark.parametrize("open_folder", [open_lm, open_pieces, open_sentences])
@pytest.mark.parametrize("where", ["config.json", "tokenizer_config.json"])
def test_code_in_a_folder_is_not_run(
    open_folder: Callable[[Path], object], where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(*_: object) -> str:
        raise AssertionError("nobody is to be asked")

    mark = tmp_path / "mark"
    make_evil(tmp_path / "evil", mark, where)
    monkeypatch.setattr("builtins.input", answer)
    with pytest.raises(PrismError, match=rf"evil wants to run its own Python code \(auto_map in {where}\)"):
        open_folder(tmp_path / "evil")
    assert not mark.exists()


def test_the_evil_folder_would_run_if_it_were_trusted(tmp_path: Path) -> None:
    make_evil(tmp_path / "evil", tmp_path / "mark", "config.json")
    library.AutoConfig.from_pretrained(str(tmp_path / "evil"), trust_remote_code=True)
    assert (tmp_path / "mark").exists()


def test_code_in_a_module_of_sentence_transformers(tmp_path: Path) -> None:
    make_evil(tmp_path / "made" / "0_Transformer", tmp_path / "mark", "config.json")
    kinds = [{"path": "0_Transformer", "type": "x.Transformer"}, {"path": "1_Pooling", "type": "x.Pooling"}]
    (tmp_path / "made" / "modules.json").write_text(json.dumps(kinds), "utf-8")
    (tmp_path / "made" / "1_Pooling").mkdir()
    (tmp_path / "made" / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    with pytest.raises(PrismError, match="wants to run its own Python code"):
        open_sentence_encoder(str(tmp_path / "made"))
    assert not (tmp_path / "mark").exists()


def test_a_language_model_with_a_missing_weight_is_refused(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    make_gpt(tmp_path / "gpt")
    open_lm(tmp_path / "gpt")  # its output is tied to its embedding and in no file, which is not a missing weight
    path = tmp_path / "gpt" / "model.safetensors"
    whole = load_file(path)
    for name in ("transformer.h.1.mlp.c_fc.weight", "transformer.wte.weight", "transformer.h.0.ln_1.bias"):
        save_file({key: array for key, array in whole.items() if key != name}, path, metadata={"format": "pt"})
        with pytest.raises(PrismError, match=f"gpt are incomplete: .*{name.split('.', 1)[1]}|lm_head"):
            open_lm(tmp_path / "gpt")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", b""),
        ("config.json", b"{}"),
        ("config.json", b"[]"),
        ("config.json", b'{"model_type": "gpt2", "n_layer": 1000000000}'),
        ("config.json", b'{"model_type": "gpt2", "vocab_size": null}'),
        ("config.json", b'{"model_type": 7}'),
        ("tokenizer.json", b""),
        ("tokenizer.json", b"{}"),
        ("tokenizer.json", b"[1]"),
        ("tokenizer_config.json", b"[]"),
        ("tokenizer_config.json", b'{"tokenizer_class": 3}'),
        ("model.safetensors", b""),
        ("model.safetensors", b"\xff" * 8),
        ("model.safetensors", b"\2\0\0\0\0\0\0\0{}"),
    ],
)
def test_damaged_language_models_are_one_sentence(name: str, content: bytes, tmp_path: Path) -> None:
    make_gpt(tmp_path / "gpt")
    (tmp_path / "gpt" / name).write_bytes(content)
    with pytest.raises(PrismError, match="gpt"):
        open_lm(tmp_path / "gpt")


def test_cut_off_files_of_a_language_model_are_one_sentence(tmp_path: Path) -> None:
    make_gpt(tmp_path / "whole")
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"):
        for share in (0.1, 0.5, 0.9):
            folder = tmp_path / "gpt"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(tmp_path / "whole", folder)
            content = (folder / name).read_bytes()
            (folder / name).write_bytes(content[: int(len(content) * share)])
            with pytest.raises(PrismError, match="gpt"):
                open_lm(folder)


def test_a_tokenizer_with_more_ids_than_the_model(tmp_path: Path) -> None:
    make_gpt(tmp_path / "gpt")
    sizes = {"vocab_size": 9, "n_positions": 32, "n_embd": 8, "n_layer": 1, "n_head": 2}
    library.GPT2LMHeadModel(library.GPT2Config(**sizes)).save_pretrained(tmp_path / "gpt")
    with pytest.raises(PrismError, match="the tokenizer has 13 ids, the model 9"):
        open_lm(tmp_path / "gpt")


def test_decoders_are_not_encoders(tmp_path: Path) -> None:
    make_gpt(tmp_path / "gpt")
    with pytest.raises(PrismError, match="gpt2 model, not an encoder"):
        open_pieces(tmp_path / "gpt")


def make_mpnet(folder: Path) -> Any:
    """A network that only transformers has: its attention has relative positions."""
    make_bert(folder)
    config = library.MPNetConfig(
        vocab_size=13,
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=34,
        pad_token_id=0,
        initializer_range=0.5,
    )
    model = library.MPNetModel(config).eval()
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("side", ["right", "left"])
def test_other_networks_are_read_by_transformers(side: str, tmp_path: Path) -> None:
    model = make_mpnet(tmp_path / "mpnet")
    settings = tmp_path / "mpnet" / "tokenizer_config.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "padding_side": side}), encoding="utf-8")
    everything: Any = open_pieces(tmp_path / "mpnet")
    last: Any = open_piece_encoder(str(tmp_path / "mpnet"), "en", no_model)
    assert isinstance(everything, TransformersEncoder)
    assert (everything.layer, last.layer, everything.limit) == ("all", "2", 33)
    texts = ["the dog barks loudly", "a cat", "", "the black cat sleeps the black dog barks"]
    for text, full, one in zip(texts, everything.encode(texts), last.encode(texts), strict=True):
        tokens = everything.tokenizer.encode(text)
        with torch.no_grad():
            states = model(input_ids=torch.tensor([tokens.ids]), output_hidden_states=True).hidden_states
        assert full == pytest.approx(torch.stack(states)[:, 0, tokens.pieces].numpy(), abs=1e-5)
        assert one[0] == pytest.approx(full[2], abs=1e-6)


def test_other_networks_with_a_missing_weight_are_refused(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    make_mpnet(tmp_path / "mpnet")
    path = tmp_path / "mpnet" / "model.safetensors"
    kept = {name: array for name, array in load_file(path).items() if "layer.1.attention.attn.q" not in name}
    save_file(kept, path, metadata={"format": "pt"})
    with pytest.raises(PrismError, match="incomplete: encoder.layer.1.attention.attn.q"):
        open_pieces(tmp_path / "mpnet")
