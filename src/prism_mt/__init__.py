"""Prism: machine translation scored by a multilingual translation model, and metrics judged by people."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Prism", "PrismError", "load_model", "score"]

if TYPE_CHECKING:
    from prism_mt._core.errors import PrismError
    from prism_mt.api import Prism, load_model, score


def __getattr__(name: str) -> Any:
    """The interface is imported when it is used, so that `import prism_mt` stays light."""
    if name == "PrismError":
        from prism_mt._core.errors import PrismError

        return PrismError
    if name in __all__:
        from prism_mt import api

        return getattr(api, name)
    raise AttributeError(f"module 'prism_mt' has no attribute {name!r}")
