"""A random BERT of a few words, written as a Hugging Face folder."""

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
