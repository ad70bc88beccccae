"""The files of a Hugging Face model folder, with one clear sentence for each missing or damaged one."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prism_mt._core.errors import PrismError


@dataclass(frozen=True)
class Folder:
    """A folder with its two configuration files already read."""

    path: Path
    config: Mapping[str, Any]
    tokenizer: Mapping[str, Any]
    """tokenizer_config.json; empty if missing."""

    @property
    def name(self) -> str:
        """`ORG/NAME` for a snapshot in the hub's cache (a folder named by its commit), otherwise the folder's name."""
        snapshot = self.path.resolve()
        repository = snapshot.parent.parent.name
        if snapshot.parent.name == "snapshots" and repository.startswith("models--"):
            return repository.removeprefix("models--").replace("--", "/")
        return snapshot.name

    @property
    def tokenizer_class(self) -> str:
        """The tokenizer class without the suffix `Fast`; empty if the folder does not say."""
        named = self.tokenizer.get("tokenizer_class") or self.config.get("tokenizer_class") or ""
        return str(named).removesuffix("Fast")

    def has(self, name: str) -> bool:
        """Whether the folder has this file."""
        return (self.path / name).is_file()

    def table(self, name: str) -> dict[str, Any]:
        """Read a JSON object from a required file."""
        return read_table(self.path / name)

    def content(self, name: str) -> bytes:
        """Read the bytes of a required tokenizer file."""
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            message = f"{self.path} has no {name}"
            if self.has("tokenizer.json"):
                message += ", and a tokenizer.json alone is not enough"
            raise PrismError(f"{message}: copy {name} from the model that this one was made from") from None
        except OSError as error:
            raise PrismError(f"cannot read {self.path / name}: {error.strerror}") from error

    def card(self) -> str:
        """The model's own README."""
        return self.content("README.md").decode("utf-8", errors="replace") if self.has("README.md") else ""

    def added_tokens(self) -> dict[str, int]:
        """Tokens beyond the vocabulary to which the folder assigns an id."""
        added = dict(self.table("added_tokens.json")) if self.has("added_tokens.json") else {}
        try:
            for index, token in (self.tokenizer.get("added_tokens_decoder") or {}).items():
                added[token["content"]] = int(index)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise PrismError(f"{self.path}: added_tokens_decoder in tokenizer_config.json is damaged") from error
        for token, index in added.items():
            if not isinstance(token, str):
                raise PrismError(f"{self.path / 'tokenizer_config.json'}: {token!r} is not a token")
            if type(index) is not int or index < 0:
                raise PrismError(f"{self.path / 'added_tokens.json'}: {token!r} has no valid id")
        return added


def open_folder(path: Path) -> Folder:
    """Read the configuration files of a folder."""
    config = read_table(path / "config.json")
    tokenizer = path / "tokenizer_config.json"
    return Folder(path, config, read_table(tokenizer) if tokenizer.is_file() else {})


def is_huggingface(path: Path) -> bool:
    """Whether the folder has a config.json that names a `model_type`."""
    try:
        config = json.loads((path / "config.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(config, dict) and "model_type" in config


def read_table(path: Path) -> dict[str, Any]:
    """A JSON object from a file."""
    try:
        table = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise PrismError(f"{path.parent} has no {path.name}: download the model again") from None
    except OSError as error:
        raise PrismError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise PrismError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(table, dict):
        raise PrismError(f"{path} must hold a JSON object")
    return table
