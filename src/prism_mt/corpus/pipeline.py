"""Corpus preparation: sources, stages, vocabulary, shards and report."""

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from prism_mt._core.environment import available_cores
from prism_mt._core.errors import PrismError
from prism_mt._core.files import path_of, write_atomically
from prism_mt._core.options import load_toml
from prism_mt.corpus.config import CorpusConfig, Source, find_files, find_sources
from prism_mt.corpus.data_directory import check_specials, language_tags
from prism_mt.corpus.executor import Executor, Processes, Ray, Serial
from prism_mt.corpus.readers import Selection, read_blocks
from prism_mt.corpus.report import Report
from prism_mt.corpus.scaling import scaled
from prism_mt.corpus.shards import EncodeJob, encode, write_shards
from prism_mt.corpus.stages import Finished, Job, Stage, plan, run_stage
from prism_mt.corpus.steps.base import Context, Step
from prism_mt.corpus.steps.registry import build_step
from prism_mt.corpus.store import remove_directory
from prism_mt.corpus.vocabulary import Recipe, sample_sentences, train_sentencepiece
from prism_mt.text.languages import language
from prism_mt.text.subwords import Vocabulary


@dataclass(frozen=True)
class Preparation:
    """A configuration with its files located and its steps built."""

    config: CorpusConfig
    root: Path
    output: Path
    sources: tuple[Source, ...]
    heldout: tuple[Path, ...]
    steps: tuple[Step, ...]

    @property
    def work(self) -> Path:
        """Directory for unfinished work."""
        return self.output / "work"


def open_preparation(config: CorpusConfig, root: Path, output: Path, where: str) -> Preparation:
    """Check everything that can be checked before reading the first row."""
    _check_numbers(config, where)
    sources = tuple(find_sources(config, root))
    _check_languages(config, sources, where)
    if config.vocabulary.model:
        path = find_files(config.vocabulary.model, root)[0]
        if not path.is_file():
            raise PrismError(f"{where}: vocabulary.model must be a SentencePiece model, and {path} is no file")
        language_tags(Vocabulary(path.read_bytes()), config.languages, str(path))
    if config.vocabulary.source_model:
        path = find_files(config.vocabulary.source_model, root)[0]
        if not path.is_file():
            raise PrismError(
                f"{where}: vocabulary.source_model must be a SentencePiece model, and {path} is no file"
            )
        check_specials(Vocabulary(path.read_bytes()), str(path))
    heldout = tuple(path for pattern in config.heldout for path in find_files(pattern, root))
    both = {path.resolve() for path in heldout} & {path.resolve() for s in sources for path in s.files}
    if both:
        raise PrismError(f"{where}: {min(both)} is both a source and held out: remove it from one of them")
    groups = tuple(source.name for source in sources)
    context = Context(config.seed, tuple(config.languages), groups, root, heldout)
    steps = tuple(
        build_step(table, context, f"{where}: step {number}") for number, table in enumerate(config.step, 1)
    )
    for step in steps:
        step.check()
    return Preparation(config, root, output, sources, heldout, steps)


def _check_numbers(config: CorpusConfig, where: str) -> None:
    vocabulary, shards = config.vocabulary, config.shards
    rules = [
        (not 0 < config.scale <= 1, "scale must be above 0 and at most 1"),
        (vocabulary.size < 1 or vocabulary.sentences < 1, "vocabulary.size and sentences must be above 0"),
        (not vocabulary.temperature > 0, "vocabulary.temperature must be above 0"),
        (
            not 0 < vocabulary.character_coverage <= 1,
            "vocabulary.character_coverage must be above 0 and at most 1",
        ),
        (shards.max_pieces < 1 or shards.tokens < 1, "shards.max_pieces and tokens must be above 0"),
        (shards.valid < 0, "shards.valid must not be negative"),
        (not 0 <= shards.valid_share < 1, "shards.valid_share must be at least 0 and below 1"),
    ]
    wrong = [message for broken, message in rules if broken]
    if wrong:
        raise PrismError(f"{where}: {'; '.join(wrong)}")


def _check_languages(config: CorpusConfig, sources: Sequence[Source], where: str) -> None:
    for code in config.languages:
        if language(code).code != code:
            raise PrismError(f"{where}: write the language {code} as {language(code).code}")
    for source in sources:
        strange = {code for pair in source.config.pairs for code in pair.split("-")} - set(config.languages)
        if strange:
            raise PrismError(
                f"{where}: the pairs of {source.config.path} name {min(strange)}, which is not a language of the corpus"
            )


class PreparedCorpus(NamedTuple):
    """The shard directory, and what each step kept and dropped."""

    folder: Path
    report: Report


def prepare_corpus(
    config: CorpusConfig | str | Path,
    *,
    root: str | Path | None = None,
    output: str | Path | None = None,
    workers: int = 0,
    ray: str | None = None,
    restart: bool = False,
    scale: float | None = None,
) -> PreparedCorpus:
    """Filter and sample bitext, train SentencePiece, and write training shards.

    `config` is a TOML file or its content; relative paths in a file are relative to it. An interrupted run resumes
    where it stopped unless `restart` is set. `workers` is the number of processes (0: all cores). `scale` takes the
    place of the configuration's.
    """
    folder, where = Path(), "configuration"
    if not isinstance(config, CorpusConfig):
        folder, where = Path(config).parent, str(config)
        config = load_toml(Path(config), CorpusConfig)
    config = scaled(config if scale is None else replace(config, scale=scale))
    source = Path(root) if root is not None else folder / path_of(config.root)
    target = Path(output) if output is not None else folder / path_of(config.output)
    preparation = open_preparation(config, source, target, where)
    count = workers or available_cores()
    executor: Executor = Ray(ray) if ray else Processes(count) if count > 1 else Serial()
    return PreparedCorpus(target, prepare(preparation, executor, restart))


def prepare(preparation: Preparation, executor: Executor, restart: bool = False) -> Report:
    """Run the preparation, resuming an earlier run of the same configuration."""
    _claim(preparation, restart)
    report, finished = Report(), run_stages(preparation, executor)
    for stage in finished:
        report.add(stage.counts)
    config, last = preparation.config, finished[-1]
    job = EncodeJob(
        last.directory,
        preparation.work / "encoded",
        _vocabulary(preparation, last),
        config.shards,
        preparation.heldout,
        config.seed,
        _source_model(preparation),
    )
    encoded = encode(job, last, executor)
    report.add(encoded.counts)
    report.add(write_shards(job, encoded.chunks, config.languages, preparation.output))
    report.write_tsv(preparation.output / "report.tsv")
    rejects = (reject for chunk in finished[0].store.chunks() for reject in chunk.rejects)
    report.write_rejects(preparation.output / "rejects.tsv", rejects)
    _discard(preparation)
    return report


def _source_model(preparation: Preparation) -> Path | None:
    """The SentencePiece model of sources, if they have their own."""
    name = preparation.config.vocabulary.source_model
    return find_files(name, preparation.root)[0] if name else None


def run_stages(preparation: Preparation, executor: Executor) -> list[Finished]:
    """Run all stages, each on the chunks of the previous one; only the last stage's rows are kept."""
    finished: list[Finished] = []
    names = _names(preparation.steps)
    config = preparation.config
    selection = Selection(frozenset(config.languages), config.seed)
    for number, stage in enumerate(plan(preparation.steps)):
        previous = finished[-1] if finished else None
        output = preparation.work / f"stage-{number:02d}"
        if not (output / "complete.json").exists():
            _prepare_steps(stage, previous)
        job = Job(
            stage,
            tuple(names[id(step)] for step in stage.steps),
            output,
            previous.directory if previous else None,
            selection,
        )
        finished.append(run_stage(job, previous, read_blocks(preparation.sources), executor))
        if not finished[-1].sizes():
            step = job.names[-1] if job.names else "read"
            raise PrismError(f"no rows are left after step {step}: check its limits and the languages")
        if previous:
            previous.store.remove_rows()
    return finished


def _prepare_steps(stage: Stage, previous: Finished | None) -> None:
    for step in stage.steps:
        if step.needs_corpus:
            assert previous is not None
            step.prepare(previous)


def _names(steps: Sequence[Step]) -> dict[int, str]:
    """Name each step for the report; repeated kinds get a number."""
    names: dict[int, str] = {}
    for step in steps:
        earlier = sum(name.split(" ")[0] == step.kind for name in names.values())
        names[id(step)] = f"{step.kind} {earlier + 1}" if earlier else step.kind
    return names


def _vocabulary(preparation: Preparation, corpus: Finished) -> Path:
    """The SentencePiece model: the configured one, an earlier run's, or a new one."""
    config = preparation.config.vocabulary
    if config.model:
        return find_files(config.model, preparation.root)[0]
    path = preparation.work / "spm.model"
    if not path.exists():
        recipe = Recipe(
            config.size,
            config.kind,
            config.byte_fallback,
            config.character_coverage,
            config.split_digits,
            tuple(f"<{code}>" for code in preparation.config.languages),
            exact=True,
        )
        sentences = sample_sentences(corpus, config.sentences, config.temperature, preparation.config.seed)
        train_sentencepiece(sentences, path, recipe)
    return path


def _discard(preparation: Preparation) -> None:
    """Remove unfinished work, renaming it first: half of it must never be mistaken for all of it."""
    discarded = preparation.work.with_name("work.discarded")
    if discarded.exists():  # by a run that was killed here
        remove_directory(discarded)
    if preparation.work.exists():
        preparation.work.rename(discarded)
        remove_directory(discarded)


def _claim(preparation: Preparation, restart: bool) -> None:
    """Check that unfinished work in the output directory belongs to the same configuration."""
    plan_file = preparation.work / "plan.json"
    for leftover in preparation.output.glob("*.partial"):
        leftover.unlink()
    files = [path for source in preparation.sources for path in source.files] + list(preparation.heldout)
    vocabulary = preparation.config.vocabulary
    for model in filter(None, (vocabulary.model, vocabulary.source_model)):
        files += find_files(model, preparation.root)[:1]
    stats = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    mine = json.dumps({"config": dataclasses.asdict(preparation.config), "files": stats}, indent=1)
    if restart or not plan_file.exists():
        _discard(preparation)
    if plan_file.exists():
        if plan_file.read_text("utf-8") != mine:
            raise PrismError(
                f"{preparation.work} has unfinished work from another configuration, or from files that have changed "
                "since: discard it with `restart=`, or choose another `output=`"
            )
        return
    with write_atomically(plan_file) as handle:
        handle.write(mine)
