"""Models on the Hugging Face hub: only the required files are fetched, once, into the hub's own cache."""

from collections.abc import Sequence
from pathlib import Path

from prism_mt._core.errors import MissingExtra, PrismError

_FILES = [
    "README.md",
    "config.json",
    "tokenizer_config.json",
    "added_tokens.json",
    "vocab.json",
    "target_vocab.json",
    "sentencepiece.bpe.model",
    "source.spm",
    "target.spm",
]
ENCODER_FILES = [
    "README.md",
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "sentencepiece.bpe.model",
    "spiece.model",
    "modules.json",
    "sentence_bert_config.json",
    "*_Pooling/*",
    "*_Dense/*",
]
"""Files of encoders besides weights; the last four belong to sentence-transformers."""
_SAFETENSORS = ["model.safetensors", "model-*.safetensors", "model.safetensors.index.json"]
_PICKLES = ["pytorch_model.bin", "pytorch_model-*.bin", "pytorch_model.bin.index.json"]


def fetch(name: str, offline: bool = False, files: Sequence[str] = _FILES) -> Path:
    """The local folder of `ORG/NAME`; with `offline`, only if it has been fetched before."""
    folder = _snapshot(name, [*files, *_SAFETENSORS], offline)
    # Many repositories have the same weights in both formats: the pickle is fetched only if it is the only one.
    if not any(folder.glob("model*.safetensors*")):
        folder = _snapshot(name, [*files, *_PICKLES], offline)
    return folder


def is_fetched(name: str) -> bool:
    """Whether the hub's cache has the model `ORG/NAME`."""
    try:
        from huggingface_hub import constants
    except ImportError:
        return False
    folder = Path(constants.HF_HUB_CACHE) / f"models--{name.replace('/', '--')}" / "snapshots"
    return any(any(folder.glob(f"*/{weights}")) for weights in (*_SAFETENSORS, *_PICKLES))


def _snapshot(name: str, patterns: list[str], offline: bool) -> Path:
    try:
        import huggingface_hub
    except ImportError as error:
        raise MissingExtra(f"the model hf:{name}", "hf") from error
    try:
        return Path(huggingface_hub.snapshot_download(name, allow_patterns=patterns, local_files_only=offline))
    except Exception as error:
        # Besides its own errors, the hub raises those of its HTTP library, which depends on its version.
        if offline:
            raise PrismError(
                f"`offline=`: not fetching hf:{name}, which is not on this machine; run once without it, or give the "
                "path of a folder"
            ) from error
        if isinstance(error, huggingface_hub.errors.RepositoryNotFoundError):
            reason = "the hub has no model of that name, or only for those who have logged in"
        else:
            reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise PrismError(f"cannot fetch hf:{name}: {reason}") from error
