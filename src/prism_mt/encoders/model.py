"""The encoder of a translation model, in every language of the model."""

from prism_mt._core.errors import PrismError
from prism_mt.encoders.network import EncoderNetwork
from prism_mt.encoders.tokens import SubwordTokenizer
from prism_mt.models.directory import ModelDirectory
from prism_mt.text.languages import resolve


def read_model(model: ModelDirectory, language: str, into: str) -> EncoderNetwork:
    """The source side of a model for texts in `language`, encoded as if for translation into `into`.

    Only some models need to know the languages; the name tells which of them the vectors depend on. If the tag is the
    target's, a text that is compared with others in its language is encoded as if for paraphrasing.
    """
    spec = model.spec
    if spec.architecture.decoder_only:
        raise PrismError(f"{spec.name or 'the model'} is a language model: it has no encoder")
    if not language and spec.conventions.needs_source_language:
        raise PrismError(f"the model {spec.name} needs the source language: set `src_lang=`")
    known = spec.languages
    language = resolve(language, known) if language else ""
    into = resolve(into, known) if into else ""
    symbols = spec.conventions.source
    parts = [spec.name or "model"]
    parts += [language] if "source-tag" in symbols else []
    # For paraphrasing, naming the language once is enough.
    parts += [f"to-{into}"] if "target-tag" in symbols and into not in parts[1:] else []
    # A piece that no vocabulary has marks the position of the text.
    around = spec.conventions.encode_source([-1], known.get(language), known.get(into))
    place = around.index(-1)
    tokenizer = SubwordTokenizer(model.source, around[:place], around[place + 1 :])
    return EncoderNetwork("-".join(parts), model.digest, spec.architecture, tokenizer, model.weights)
