"""Known models: names, capabilities, and where to get them."""

from dataclasses import dataclass

_PRISM39 = (
    "ar bg bn ca cs da de el en eo es et fi fr he hr hu id it ja kk "
    "lt lv mk nl no pl pt ro ru sk sl sq sr sv tr uk vi zh"
)


@dataclass(frozen=True)
class KnownModel:
    """One entry in the catalog."""

    name: str
    what: str
    languages: str
    parameters: str
    license: str
    source: str
    """A download address, or the name to pass as `--model`."""
    digest: str = ""
    """`md5:…` as the original layout defines it, if known."""

    @property
    def downloadable(self) -> bool:
        """Whether `prism models get` can download it."""
        return self.source.startswith(("http://", "https://"))

    @property
    def gigabytes(self) -> float:
        """Size of the weights in float32."""
        return 4 * float(self.parameters[:-1]) * {"M": 1e6, "B": 1e9}[self.parameters[-1]] / 1e9


CATALOG = (
    KnownModel("mini", "embedded, the default", _PRISM39, "69M", "MIT", "mini"),
    KnownModel(
        "m39v1",
        "the original Prism model",
        _PRISM39,
        "745M",
        "MIT",
        "http://data.statmt.org/prism/m39v1.tar",
        "md5:8412b2044da4b9b2c0a8ce87b305d0d1",
    ),
    KnownModel("m2m100-418m", "M2M100, small", "100", "418M", "MIT", "hf:facebook/m2m100_418M"),
    KnownModel("m2m100-1.2b", "M2M100, large", "100", "1.2B", "MIT", "hf:facebook/m2m100_1.2B"),
    KnownModel("small100", "SMaLL-100, distilled M2M100", "100", "330M", "MIT", "hf:alirezamsh/small100"),
    KnownModel(
        "nllb-600m", "NLLB-200, distilled", "200", "600M", "CC-BY-NC-4.0", "hf:facebook/nllb-200-distilled-600M"
    ),
    KnownModel(
        "nllb-1.3b", "NLLB-200, distilled", "200", "1.3B", "CC-BY-NC-4.0", "hf:facebook/nllb-200-distilled-1.3B"
    ),
    KnownModel(
        "mbart50", "mBART-50, many to many", "52", "611M", "MIT", "hf:facebook/mbart-large-50-many-to-many-mmt"
    ),
    KnownModel(
        "mbart25", "mBART-25, an auto-encoder (contrast)", "25", "611M", "MIT", "hf:facebook/mbart-large-cc25"
    ),
    KnownModel("marian-de-en", "OPUS-MT, one pair", "de en", "74M", "CC-BY-4.0", "hf:Helsinki-NLP/opus-mt-de-en"),
)


def find(name: str) -> KnownModel | None:
    """Find a catalog entry by name."""
    return next((model for model in CATALOG if model.name == name), None)


def by_digest(digest: str) -> KnownModel | None:
    """Find the entry whose files have this digest (`md5:…`)."""
    return next((model for model in CATALOG if digest and model.digest == digest), None)
