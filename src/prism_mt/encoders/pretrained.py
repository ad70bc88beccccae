"""Hugging Face folders as untrusted files: checks made before transformers reads them.

No code from a folder is ever run, nothing is fetched, and nothing is asked on standard input.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prism_mt._core.errors import MissingExtra, PrismError
from prism_mt.models.huggingface.folder import read_table

_CONFIGURATIONS = ("config.json", "tokenizer_config.json", "processor_config.json", "generation_config.json")
_TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model")
_TOKENIZER_SETTINGS = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "merges.txt")
_WEIGHTS = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
_LAYERS = ("num_hidden_layers", "n_layers", "n_layer", "num_layers")
_SIZES = (
    *_LAYERS,
    "vocab_size",
    "hidden_size",
    "dim",
    "n_embd",
    "intermediate_size",
    "hidden_dim",
    "n_inner",
    "max_position_embeddings",
    "n_positions",
    "type_vocab_size",
    "num_attention_heads",
    "n_heads",
    "n_head",
)
_LARGEST, _MOST_LAYERS = 10_000_000, 1000


def check_folder(folder: Path) -> Mapping[str, Any]:
    """Refuse a folder that brings code or has absurd sizes; return its config.json."""
    for name in _CONFIGURATIONS:
        if (folder / name).is_file() and _mentions_code(read_table(folder / name)):
            raise PrismError(
                f"{folder} wants to run its own Python code (auto_map in {name}), but model code is never run "
                "here: choose another model, or remove auto_map to read it with the code of transformers"
            )
    config = read_table(folder / "config.json")
    for key in _SIZES:
        value = config.get(key)
        limit = _MOST_LAYERS if key in _LAYERS else _LARGEST
        if value is not None and (type(value) is not int or not 0 <= value <= limit):
            raise PrismError(f"{folder / 'config.json'}: {key} is {value!r:.40}, expected 0 to {limit:,}")
    return config


def _mentions_code(table: Any) -> bool:
    """Whether a configuration, or one inside it, refers to classes in files of the folder."""
    if isinstance(table, Mapping):
        return "auto_map" in table or any(map(_mentions_code, table.values()))
    return isinstance(table, list) and any(map(_mentions_code, table))


def load_pretrained(folder: Path, kind: str, feature: str, unused: Any = None) -> tuple[Any, Any]:
    """Load the tokenizer and the model of the transformers class `kind`, which must have all its weights.

    `unused` is a pattern for weights that may be missing because nothing depends on them.
    """
    check_folder(folder)
    try:
        import transformers
    except ImportError:
        raise MissingExtra(feature, "hf") from None
    library: Any = transformers
    library.utils.logging.disable_progress_bar()
    library.utils.logging.set_verbosity_error()  # its report about weights is replaced by one sentence below
    safely = {"local_files_only": True, "trust_remote_code": False}
    tokenizer = library.AutoTokenizer.from_pretrained(str(folder), **safely)
    model, loading = getattr(library, kind).from_pretrained(str(folder), output_loading_info=True, **safely)
    missing = sorted(name for name in loading["missing_keys"] if not (unused and unused.search(name)))
    if missing:
        raise PrismError(f"the weights of {folder} are incomplete: {missing[0]} is missing")
    for name, weight in model.state_dict().items():
        if weight.is_floating_point() and not weight.isfinite().all():
            raise PrismError(f"the weights of {folder} are damaged: {name} has values that are not finite")
    return tokenizer, model.eval()


def folder_digest(folder: Path) -> str:
    """Hash configuration, tokenizer and weights, which must all be there."""
    groups = {
        "configuration (config.json)": ("config.json",),
        f"tokenizer (one of {', '.join(_TOKENIZERS)})": _TOKENIZERS,
        f"weights ({_WEIGHTS[0]} or {_WEIGHTS[2]})": _WEIGHTS,
    }
    digest = hashlib.sha256()
    for what, names in groups.items():
        present = [folder / name for name in names if (folder / name).is_file()]
        if not present:
            raise PrismError(f"{folder} is not an encoder: it has no {what}")
        if names is _TOKENIZERS and not (folder / "tokenizer.json").is_file():
            # Without tokenizer.json, its content is in several files.
            present += [folder / name for name in _TOKENIZER_SETTINGS if (folder / name).is_file()]
        if names is _WEIGHTS and any(path.suffix == ".json" for path in present):
            present += sorted([*folder.glob("model-*.safetensors"), *folder.glob("pytorch_model-*.bin")])
        for path in present:
            digest.update(path.name.encode() + b"\0")
            with open(path, "rb") as handle:
                while block := handle.read(1 << 20):
                    digest.update(block)
    return digest.hexdigest()
