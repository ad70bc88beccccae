"""Valid samples of models and encoders, and how they are read."""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hostile.samples import write

FAMILIES = ("m2m100", "nllb", "marian", "mbart50")


def model(folder: Path) -> Path:
    from made import make_model

    from prism_mt.models.directory import write_model

    return write_model(make_model(), folder / "model").folder


def read_model(path: Path) -> Any:
    from prism_mt.models.directory import ModelDirectory

    opened = ModelDirectory(path)
    opened.source.encode("Hello")
    return opened.load()


def fairseq(folder: Path) -> Path:
    from fairseq_checkpoints import make_checkpoint

    make_checkpoint(folder / "fairseq")
    return folder / "fairseq"


def fairseq_tar(folder: Path) -> Path:
    made, packed = fairseq(folder / "unpacked"), io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        tar.add(made, "m")
    return write(folder / "packed" / "fairseq.tar", packed.getvalue())


def read_fairseq(path: Path) -> Any:
    from prism_mt.models.fairseq import reader

    return reader.read(path)


def legacy_checkpoint(folder: Path) -> Path:
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    tensors = {"a": torch.arange(12.0).reshape(3, 4), "b": torch.ones(2).bfloat16()}
    content = {"model": tensors, "args": {"encoder_layers": 1}, "extra": [(1, 2.5), None, "x", {0: b"y"}]}
    torch.save(content, folder / "checkpoint.pt", _use_new_zipfile_serialization=False)
    return folder / "checkpoint.pt"


def read_pickle(path: Path) -> Any:
    from prism_mt.models.fairseq.pickles import load_torch

    return load_torch(path)


def huggingface(family: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        import hf_models

        return hf_models.make(family, folder / family)[0]  # type: ignore[arg-type]

    return make


def read_huggingface(path: Path) -> Any:
    from prism_mt.models import huggingface

    return huggingface.read(path)


def bert(folder: Path) -> Path:
    from tiny_bert import make_bert

    make_bert(folder / "bert")
    return folder / "bert"


def read_bert(path: Path) -> Any:
    from prism_mt.encoders.factory import open_piece_encoder

    def no_model() -> Any:
        raise AssertionError("no model is needed")

    return list(open_piece_encoder(str(path), "en", no_model, offline=True).encode(["the dog"]))
