"""The built wheel, alone in an empty environment, scores a pair."""

import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import run_examples
from made import make_model

from prism_mt.models.directory import write_model

_ROOT = Path(__file__).parents[1]


def run(*words: object, **options: object) -> str:
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, _ROOT)
    [made] = folder.glob("*.whl")
    return made


def test_assets_are_in_the_wheel(wheel: Path) -> None:
    source = _ROOT / "src"
    assets = {
        str(path.relative_to(source)) for path in (source / "prism_mt" / "assets").rglob("*") if path.is_file()
    }
    packed = set(zipfile.ZipFile(wheel).namelist())
    assert assets | {"prism_mt/text/languages.tsv", "prism_mt/py.typed"} <= packed


@pytest.fixture(scope="module")
def plain(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment with the package and nothing that it does not require."""
    folder = tmp_path_factory.mktemp("plain") / "env"
    run(sys.executable, "-m", "venv", folder)
    run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "-c", _ROOT / "constraints.txt", wheel)
    return folder / "bin"


@pytest.fixture
def score(plain: Path, tmp_path: Path) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """`prism score` of one pair in the plain environment, with a cache of its own."""
    model = write_model(make_model(), tmp_path / "model").folder
    for name in ("cand", "ref"):
        (tmp_path / name).write_text("Hello world!\n")
    words = ("score", "--cand", "cand", "--ref", "ref", "--lang", "en", "--model", str(model), "--segments")

    def started(*extra: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [plain / "prism", *words, *extra],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={"PRISM_CACHE": str(tmp_path / "cache"), "PATH": ""},
        )

    return started


def test_it_scores_without_torch(plain: Path, score: Callable[..., "subprocess.CompletedProcess[str]"]) -> None:
    installed = run(plain / "python", "-m", "pip", "list", "--format", "freeze").lower()
    assert "prism-mt==" in installed
    assert "torch==" not in installed
    assert float(score().stdout) < 0.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ray", "local"], "pip install 'prism-mt[ray]'"),
        (["--ray", "auto"], "pip install 'prism-mt[ray]'"),
        (["--engine", "torch"], "pip install 'prism-mt[train]'"),
        (["--device", "cuda"], "no CUDA device is visible"),
    ],
)
def test_what_is_not_installed_is_missed_even_if_the_cache_has_the_scores(
    score: Callable[..., "subprocess.CompletedProcess[str]"], words: list[str], message: str
) -> None:
    assert score().returncode == 0
    known = score("--debug")
    assert "1 of them known" in known.stderr or "2 of them known" in known.stderr
    asked = score(*words)
    assert (asked.returncode, asked.stdout) == (2, "")
    assert message in asked.stderr


@pytest.mark.parametrize("page", ["README.md", "docs/tour.md"])
def test_the_tour_works_after_a_plain_install(plain: Path, page: str) -> None:
    """Every line; that it works in a full installation is tested in tests/docs."""
    text = (_ROOT / page).read_text(encoding="utf-8")
    for block, printed in run_examples.run(text, str(plain / "python")):
        if block.language == "console":
            assert all(output.strip() for output in printed)
