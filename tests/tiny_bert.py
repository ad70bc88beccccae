"""A random BERT of a few words, written as a Hugging Face folder."""

import json
from pathlib import Path
from typing import Any

WORDS = ("the", "dog", "cat", "sleeps", "barks", "a", "black", "loudly")


def make_bert(folder: Path, positions: int = 32) -> tuple[Any, Any]:
    """Writes the folder; returns transformers' model (in eval mode) and tokenizer."""
    import torch
    import transformers

    library: Any = transformers

    folder.mkdir(parents=True, exist_ok=True)
    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in special + WORDS), "utf-8")
    tokenizer = library.BertTokenizer(str(folder / "vocab.txt"))
    torch.manual_seed(3)
    config = library.BertConfig(
        vocab_size=len(special) + len(WORDS),
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=positions,
        initializer_range=0.5,
    )
    model = library.BertModel(config).eval()
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
    return model, tokenizer


def make_gpt(folder: Path) -> Any:
    """A tiny causal language model with the tokenizer of the tiny BERT."""
    import transformers

    library: Any = transformers
    make_bert(folder)
    (folder / "model.safetensors").unlink()
    sizes = {"vocab_size": 13, "n_positions": 32, "n_embd": 8, "n_layer": 2, "n_head": 2}
    model = library.GPT2LMHeadModel(library.GPT2Config(**sizes, initializer_range=0.5)).eval()
    model.save_pretrained(folder)
    settings = folder / "tokenizer_config.json"
    table = json.loads(settings.read_text())
    settings.write_text(json.dumps({**table, "eos_token": "[SEP]", "bos_token": "[CLS]"}), "utf-8")
    return model
