"""The test of a module is where one would look for it: `a/b.py` in `tests/a/test_b.py`, in its room, or listed here.

Test modules need names of their own, so a name may include that of its room or folder: `training/ranking/loss.py`
is tested by `tests/training/test_ranking_loss.py`, and `cli/score.py` by `tests/cli/test_score_command.py`.
"""

import re
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_PACKAGE = _ROOT / "src" / "prism_mt"
_TESTS = _ROOT / "tests"
# Tested through the functions that use them, in the test module named here.
_ELSEWHERE = {
    "_core/download.py": "cli/test_models_command.py",
    "_core/environment.py": "_core/test_cache.py",
    "cli/completion_scripts.py": "cli/test_completion_command.py",
    "cli/corpus.py": "corpus/test_corpus_pipeline.py",
    "cli/data.py": "cli/test_reproduce_command.py",
    "cli/inputs.py": "cli/test_score_command.py",
    "cli/judged.py": "cli/test_metaeval_command.py",
    "cli/metaeval_disagreements.py": "cli/test_metaeval_command.py",
    "cli/metaeval_error_free.py": "cli/test_metaeval_command.py",
    "cli/metaeval_spans.py": "cli/test_metaeval_command.py",
    "cli/metaeval_submit.py": "cli/test_metaeval_folders.py",
    "cli/metaeval_sweep.py": "cli/test_metaeval_command.py",
    "cli/metric.py": "metrics/test_trained_metrics.py",
    "cli/metric_options.py": "cli/test_score_command.py",
    "cli/metrics.py": "metrics/test_registry.py",
    "cli/output.py": "cli/test_compare_command.py",
    "cli/paraphrase.py": "cli/test_generate_commands.py",
    "cli/running.py": "cli/test_train_command.py",
    "cli/serve.py": "serve/test_serve.py",
    "cli/translate.py": "cli/test_generate_commands.py",
    "corpus/filter.py": "cli/test_filter_command.py",
    "corpus/pairwise.py": "corpus/test_corpus_margin.py",
    "corpus/report.py": "corpus/test_corpus_pipeline.py",
    "corpus/stages.py": "corpus/test_corpus_pipeline.py",
    "corpus/steps/registry.py": "corpus/test_corpus_mistakes.py",
    "corpus/steps/share.py": "corpus/test_scaling.py",
    "corpus/store.py": "corpus/test_corpus_pipeline.py",
    "corpus/tmx.py": "corpus/test_corpus_readers.py",
    "corpus/vocabulary.py": "corpus/test_corpus_pipeline.py",
    "encoders/pooled.py": "encoders/test_factory.py",
    "encoders/sentence.py": "metrics/test_sentence.py",
    "encoders/use.py": "corpus/test_corpus_margin.py",
    "engines/kernels.py": "engines/test_engines.py",
    "engines/local.py": "engines/test_engine_config.py",
    "engines/packed.py": "engines/test_engines.py",
    "engines/ragged.py": "engines/test_engines.py",
    "engines/workers.py": "engines/test_engines.py",
    "evaluation/collect.py": "cli/test_metaeval_command.py",
    "evaluation/rerank.py": "cli/test_rerank_command.py",
    "generate/ct2_search.py": "generate/test_against_transformers.py",
    "generate/torch_search.py": "generate/test_against_transformers.py",
    "metrics/pairwise.py": "metrics/test_bertscore.py",
    "metrics/scores_file.py": "metrics/test_scores.py",
    "metrics/spans/scorer.py": "metrics/spans/test_finder.py",
    "models/download.py": "cli/test_models_command.py",
    "models/resolve.py": "cli/test_models_command.py",
    "models/zoo.py": "cli/test_models_command.py",
    "report/challenge.py": "cli/test_challenge_command.py",
    "report/comparison.py": "cli/test_compare_command.py",
    "report/errors.py": "cli/test_metaeval_command.py",
    "report/explain.py": "cli/test_explain_command.py",
    "report/judging.py": "cli/test_metaeval_command.py",
    "report/references.py": "cli/test_metaeval_references.py",
    "report/spans.py": "cli/test_metaeval_command.py",
    "report/svg.py": "report/test_page.py",
    "report/systems.py": "cli/test_compare_command.py",
    "report/words.py": "evaluation/test_words.py",
    "serve/docs.py": "serve/test_serve.py",
    "serve/waiting.py": "serve/test_serve.py",
    "text/tokenize.py": "text/test_words.py",
    "training/ranking/validation.py": "training/test_ranking_objective.py",
    "training/regression/export.py": "training/test_regression_objective.py",
    "training/translation/validation.py": "training/test_loop.py",
}


def candidates(module: Path) -> set[str]:
    """Names of test modules that one would look for, relative to the room's folder or a folder in it."""
    room, *folders = module.parts[:-1]
    words = {room, room.removesuffix("s"), *folders, *(folder.removesuffix("s") for folder in folders)}
    stem = module.stem
    return (
        {f"test_{stem}.py", f"test_{stem}_command.py"}
        | {f"test_{name}.py" for word in words for name in (f"{word}_{stem}", f"{stem}_{word}", f"{word}_{stem}s")}
        | {f"test_{folder}.py" for folder in folders}
    )


def test_every_module_has_its_test() -> None:
    lost = []
    for path in sorted(_PACKAGE.rglob("*.py")):
        module = path.relative_to(_PACKAGE)
        if path.name.startswith("__") or len(module.parts) == 1 or module.parts[1] == "studies":
            continue
        tests = sorted((_TESTS / module.parts[0]).rglob("test_*.py"))
        dotted = re.compile(rf"\bprism_mt\.{re.escape('.'.join(module.with_suffix('').parts))}\b")
        if not (
            candidates(module) & {test.name for test in tests}
            or any(dotted.search(test.read_text("utf-8")) for test in tests)
            or module.as_posix() in _ELSEWHERE
        ):
            lost.append(module.as_posix())
    assert not lost, f"without a test module in tests/: {lost}"


def test_the_list_is_true() -> None:
    assert [name for name in _ELSEWHERE if not (_PACKAGE / name).is_file()] == []
    assert [test for test in _ELSEWHERE.values() if not (_TESTS / test).is_file()] == []
