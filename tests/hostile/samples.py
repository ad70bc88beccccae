"""Valid samples of files, and how they are read; those of models are in `model_samples`."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prism_mt._core.errors import PrismError

PARTS: dict[str, tuple[bytes, ...]] = {
    "judgments.tsv": (
        b"lp\tsystem\tsegment\tscore\n",
        b"de-en\tA\t1\t",
        b"0.5",
        b"raw",
        b"src\tref\tmt\tlp\tscore\n",
    ),
    "mqm.tsv": (
        b"system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\n",
        b"A\td\t1\t1\tr\ts\tt\t",
    ),
    "agreement.tsv": (b"#", b"\tmetrics\t", b"testset\tlp\tmetrics\t", b"newstest\tde-en\t", b"A\tB\t"),
    "DA.csv": (b"LP SYSTEM SID SCORE\n", b"de-en A 1 0.5\n", b"de-en"),
    "segments.jsonl": (
        b'{"lp": "de-en", "src": "a", "ref": "b", ',
        b'"mt": {"A": "c"}, ',
        b'"scores": {"A": 1}}\n',
    ),
    "outputs.jsonl": (
        b'{"langs": "de-en", "doc_id": "d", "line_id": 1, "system": "A", "src": "a", "tgt": "b", ',
        b'"esa_score": 80, "esa_spans": [',
        b'{"start_i": 0, "end_i": 1, "severity": "minor"}',
        b"]}\n",
    ),
    "outputs.tsv": (
        b"doc_id\tsegment_id\tsource_lang\ttarget_lang\tset_id\tsystem_id\toverall\n",
        b"d\t1\tde\ten\tofficial\tA\t",
        b"70\n",
    ),
    "scores.tsv": (b"# signature\n", b"metric\tsystem\tsegment\tscore\n", b"bleu\tA\t1\t", b"0.5\n", b"lp\t"),
    "scores.json": (b'{"seg": {"bleu": {"A": [', b"1, 2]}}}", b'"sys": ', b'{"bleu": {"A": 1}}'),
    "de-en.seg.score": (b"A\t", b"0.5\n", b"None\n"),
    "metric.seg.scr": (b"bleu\tde-en\tnewstest\tA\t1\t0.5\n", b"bleu de-en newstest ref A 1 0.5\n"),
    "bitext.tsv": (b"en\tde\tA house\tEin Haus\n", b"de\ten\t", b"en\t"),
    "bitext.jsonl": (b'{"en": "a", "de": "b"}\n', b'{"en": ', b'"a"', b"}\n"),
    "bitext.tmx": (b"<tmx><body>", b"<tu>", b'<tuv xml:lang="en"><seg>a</seg></tuv>', b"</tu>", b"</body></tmx>"),
    "lists.jsonl": (b'{"source": "a", "hypotheses": [', b'{"text": "b", "score": -1}', b"]}\n"),
}
BITEXT = tuple(name for name in PARTS if name.startswith("bitext"))
JUDGED = tuple(name for name in PARTS if name not in (*BITEXT, "lists.jsonl"))


def write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def read_judged(path: Path) -> None:
    from prism_mt.evaluation.readers import read_all_judgments
    from prism_mt.evaluation.readers.scores import read_scores as read_metric_scores

    both(lambda: read_all_judgments([path], pairs=("de-en",)), lambda: read_metric_scores(path, "de-en"))


def both(*reads: Callable[[], Any]) -> None:
    """Call all of them; each may refuse the file."""
    for read in reads:
        try:
            read()
        except PrismError as error:
            str(error)


def read_corpus(path: Path) -> None:
    from prism_mt.corpus.config import CorpusConfig, SourceConfig, find_sources
    from prism_mt.corpus.readers import Selection, parse_block, read_blocks

    config = CorpusConfig(languages=["de", "en"], source=[SourceConfig(path=path.name)])
    for block in read_blocks(find_sources(config, path.parent)):
        parse_block(block, Selection(frozenset({"de", "en"}), seed=1))


def read_lists(path: Path) -> Any:
    from prism_mt.generate.nbest import open_lists

    return list(open_lists(path))


def lines(folder: Path) -> Path:
    return write(folder / "lines.txt", "Hello, world!\nЗдравствуй, мир!\n\n世界\n".encode())


def packed_lines(folder: Path) -> Path:
    return write(folder / "lines.txt.gz", gzip.compress(b"Hello, world!\nBye\n" * 20))


def read_lines(path: Path) -> Any:
    from prism_mt.text.lines import open_lines

    return list(open_lines(path))


def fields(folder: Path) -> Path:
    return write(folder / "fields.tsv", b"a b\ta c\nd\te\n")


def read_fields(path: Path) -> Any:
    from prism_mt.text.lines import open_fields

    return [list(column) for _, column in open_fields(path, ["ref", "cand"])]


def json_fields(folder: Path) -> Path:
    return write(folder / "fields.jsonl", b'{"ref": "a", "cand": "b"}\n{"ref": "c", "cand": "d"}\n')


def read_json_fields(path: Path) -> Any:
    from prism_mt.text.lines import open_jsonl

    return [list(column) for _, column in open_jsonl(path, ["ref", "cand"])]


def train_toml(folder: Path) -> Path:
    text = b'data = "shards"\noutput = "out"\nseed = 1\n[architecture]\nwidth = 8\ndecoder_layers = 1\n'
    more = b"decoder_heads = 2\ndecoder_feed_forward = 8\n[optimizer]\nlearning_rate = 1e-3\nclip = 1.0\n"
    return write(folder / "train.toml", text + more)


def read_train_toml(path: Path) -> Any:
    from prism_mt.training.translation.config import load_train_config

    return load_train_config(path)


def finetune_toml(folder: Path) -> Path:
    text = b'model = "mini"\noutput = "out"\ntrain = ["a.jsonl"]\nseed = 1\n[optimizer]\nlearning_rate = 1e-4\n'
    return write(folder / "finetune.toml", text)


def read_finetune_toml(path: Path) -> Any:
    from prism_mt.training.ranking.config import load_finetune_config

    return load_finetune_config(path)


def metric_toml(folder: Path) -> Path:
    text = (
        b'train = ["a.tsv"]\ndev = ["b.tsv"]\noutput = "out"\nkind = "esim"\nencoder = "minilm"\nlanguage = "en"\n'
    )
    return write(folder / "metric.toml", text)


def read_metric_toml(path: Path) -> Any:
    from prism_mt.training.regression.config import load_metric_config

    return load_metric_config(path)


def corpus_toml(folder: Path) -> Path:
    text = b'languages = ["de", "en"]\noutput = "made"\nseed = 1\n[[source]]\npath = "no.tsv"\n'
    return write(folder / "corpus.toml", text + b'[[step]]\nkind = "length"\n[vocabulary]\nsize = 300\n')


def read_corpus_toml(path: Path) -> Any:
    from prism_mt._core.options import load_toml
    from prism_mt.corpus.config import CorpusConfig, find_sources

    return find_sources(load_toml(path, CorpusConfig), path.parent)


def judged_outputs(folder: Path) -> Path:
    return write(folder / "judged.tsv", b"ref\thyp\tscore\na\tb\t0.5\nc\td\t1\n")


def read_judged_outputs(path: Path) -> Any:
    from prism_mt.training.regression.judgments import read_judged_outputs as read

    return list(read(path))


def paraphrases(folder: Path) -> Path:
    return write(folder / "bias.tsv", b"reference\thypothesis\tkind\tscore\na b\ta b\tcopy\t-1\na\tc\tbeam\t-2\n")


def read_paraphrases(path: Path) -> Any:
    from prism_mt.evaluation.bias import read_paraphrases as read

    return read(path)


def scores(folder: Path) -> Path:
    import prism_mt

    made = prism_mt.score({"A": ["a b", "c"], "B": ["a", "d"]}, ref=["a b c", "d"], metrics=["chrf", "bleu"])
    made.save(folder / "scores.prism")
    return folder / "scores.prism"


def read_scores(path: Path) -> Any:
    import prism_mt

    return prism_mt.Scores.load(path)


def shards(folder: Path) -> Path:
    from made import make_vocabulary

    from prism_mt.corpus.shard_writer import ShardWriter

    with ShardWriter(
        folder / "shards", make_vocabulary(("de", "en")).sentencepiece, ["de", "en"], 2**20
    ) as writer:
        for part in ("train", "train", "valid"):
            writer.add(part, "de", "en", [10, 11, 12], [13, 14])
    return folder / "shards"


def read_shards(path: Path) -> Any:
    from prism_mt.corpus.data_directory import ShardDataset, read_vocabularies

    read_vocabularies(path)
    data = [ShardDataset(path, "train"), ShardDataset(path, "valid")]
    return [[part.pair(row) for row in range(min(4, len(part)))] for part in data]


def cache(folder: Path) -> Path:
    from prism_mt._core.cache import Store

    folder.mkdir(parents=True, exist_ok=True)
    store = Store("scores", folder / "scores.sqlite")
    store.put((bytes([number] * 16), bytes([number] * 50)) for number in range(40))
    store._connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store._connection().execute("PRAGMA journal_mode=DELETE")
    store._connection().close()
    return folder / "scores.sqlite"


def read_cache(path: Path) -> None:
    from prism_mt._core.cache import Store

    for beside in path.parent.glob("scores.sqlite-*"):
        beside.unlink()
    store = Store("scores", path)
    found = store.get([bytes([number] * 16) for number in range(40)])
    if store._database is not None:
        store._database.close()
    wrong = [key for key, value in found.items() if value != key[:1] * 50]
    assert not wrong, "a damaged entry was taken for whole"


def manifest(folder: Path) -> Path:
    from prism_mt._core.manifest import write_manifest

    write(folder / "derived" / "model.bin", bytes(range(200)))
    write_manifest(folder / "derived")
    return folder / "derived"


def read_manifest(path: Path) -> Any:
    from prism_mt._core.manifest import check_manifest

    return check_manifest(path)


def request(folder: Path) -> Path:
    body = b'{"systems": {"A": ["a"], "B": ["b"]}, "ref": [["c"]], "lang": "en", "metrics": ["chrf"]}'
    return write(folder / "report.request", body)


def read_request(path: Path) -> None:
    from prism_mt.serve.requests import Limits, Refused, ReportRequest, check_texts, find_metric, parse_body

    try:
        wanted = parse_body(ReportRequest, path.read_bytes())
        metrics = [find_metric(name, {}, wanted.model or "mini") for name in wanted.metrics]
        check_texts(wanted, wanted.systems, metrics, Limits())
    except Refused as error:
        str(error).encode()
