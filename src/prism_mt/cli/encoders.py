"""What metrics over vectors and language models need, in every command that computes metrics."""

from dataclasses import dataclass
from pathlib import Path

from prism_mt._core.arguments import option


@dataclass
class EncoderOptions:
    """Which encoder and which language model."""

    encoder: str | None = option(
        "bertr, bertscore: model (the model's own), minilm (English), a Hugging Face folder or hf:ORG/NAME; laser: "
        "use, minilm, hf:ORG/NAME, or a folder of LASER2 or sentence-transformers (default: model, and use for laser)",
        None,
        metavar="NAME",
    )
    language_model: Path | None = option("lm: folder of a language model", None, metavar="DIR")
