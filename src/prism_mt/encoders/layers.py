"""Default layers of known encoders, as chosen by BERTScore's authors by agreement with humans."""

_PUBLISHED = {
    "bert-base-chinese": 8,
    "bert-base-multilingual-cased": 9,
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "deberta-base": 9,
    "deberta-base-mnli": 9,
    "deberta-large": 16,
    "deberta-large-mnli": 18,
    "deberta-v3-base": 9,
    "deberta-v3-large": 12,
    "deberta-xlarge": 18,
    "deberta-xlarge-mnli": 40,
    "distilbert-base-multilingual-cased": 5,
    "distilbert-base-uncased": 5,
    "distilroberta-base": 5,
    "mdeberta-v3-base": 10,
    "mpnet-base": 8,
    "roberta-base": 10,
    "roberta-large": 17,
    "roberta-large-mnli": 19,
    "scibert_scivocab_cased": 9,
    "scibert_scivocab_uncased": 8,
    "xlm-roberta-base": 9,
    "xlm-roberta-large": 17,
}
_OWN = {"e5": 9, "multilingual-e5-small": 9}
"""Not published: chosen by the same criterion."""
LAST = -1


def default_layer(name: str) -> int:
    """The layer of an encoder by the last part of its name (`bert-base-uncased`, whoever published it), or the last."""
    return (_PUBLISHED | _OWN).get(name.rsplit("/", 1)[-1], LAST)
