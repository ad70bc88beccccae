"""`prism completion`: scripts that complete commands, options and their values in bash, zsh and fish."""

import argparse
import importlib
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from prism_mt._core.arguments import Command, Group
from prism_mt._core.files import path_of
from prism_mt._core.options import Config, option
from prism_mt.cli.completion_scripts import Flag, Syntax, Words, write_bash, write_fish, write_zsh

Shell = Literal["bash", "zsh", "fish"]
_Known = Mapping[str, Callable[[], Sequence[str]]]


@dataclass(frozen=True)
class CompletionOptions(Config):
    """Options of `prism completion`."""

    shell: Shell = option("the shell to write a script for", positional=True)


def run(options: CompletionOptions) -> None:
    """Print the script."""
    from prism_mt.cli.main import COMMANDS

    write = {"bash": write_bash, "zsh": write_zsh, "fish": write_fish}[options.shell]
    print(write(dict(all_commands()), COMMANDS), end="")


def all_commands() -> Iterator[tuple[str, Syntax]]:
    """Every command, such as `models list`, and what it takes; a group stands for its default, which may be empty."""
    from prism_mt.cli.main import COMMANDS, command_parser

    for name in COMMANDS:
        found: Command | Group = importlib.import_module(f"prism_mt.cli.{name}").COMMAND
        if isinstance(found, Command):
            yield name, _syntax(name, command_parser(found, f"prism {name}"))
            continue
        own = {command.name: _summary(command.help) for command in found.commands}
        if found.default:
            yield name, _syntax(name, command_parser(found.default, f"prism {name}"), own)
        else:
            yield name, Syntax((Flag(("-h", "--help"), "show this help message and exit"),), Words(), own)
        for command in found.commands:
            full = f"{name} {command.name}"
            yield full, _syntax(full, command_parser(command, f"prism {full}"))


def _syntax(name: str, parser: argparse.ArgumentParser, subcommands: Mapping[str, str] | None = None) -> Syntax:
    flags, arguments = [], Words()
    for action in parser._actions:
        if action.option_strings:
            words = None if action.nargs == 0 else _words(action, _KNOWN)
            flags.append(Flag(tuple(action.option_strings), _summary(action.help or ""), words))
        else:
            found = _words(action, _KNOWN_ARGUMENTS.get(name, {}))
            arguments = Words((*arguments.names, *found.names), arguments.files or found.files, True)
    return Syntax(tuple(flags), arguments, subcommands or {})


def _words(action: argparse.Action, known: _Known) -> Words:
    """What an option or argument takes: one of several names, a file, or something that cannot be completed."""
    several = action.nargs in ("+", "*")
    if action.choices:
        return Words(tuple(map(str, action.choices)), False, several)
    names = known.get(action.dest.removeprefix("metric."))
    if names is not None:
        return Words(tuple(names()), action.dest in _NAME_OR_FILE, several)
    return Words((), action.type in (str, path_of), several)


def _summary(text: str) -> str:
    """The start of a help text, short enough to fit next to the option in a list."""
    plain = " ".join(text.replace("%%", "%").split())
    return textwrap.shorten(plain.split("; ")[0].split(" (default")[0], 70, placeholder=" …").rstrip(".")


def _metrics() -> Sequence[str]:
    from prism_mt.metrics.registry import list_metrics

    return list(list_metrics())


def _models() -> Sequence[str]:
    from prism_mt.models.zoo import CATALOG

    return [model.name for model in CATALOG]


def _protocols() -> Sequence[str]:
    from prism_mt.evaluation.protocols import PROTOCOLS, SUITES

    return [*PROTOCOLS, *SUITES]


def _languages() -> Sequence[str]:
    """All languages that the catalog lists for its models."""
    from prism_mt.models.zoo import CATALOG

    codes = (model.languages.split() for model in CATALOG)
    return sorted({code for found in codes if len(found) > 1 for code in found})


def _tokenizers() -> Sequence[str]:
    from sacrebleu.metrics.bleu import BLEU

    return list(BLEU.TOKENIZERS)


def _configs() -> Sequence[str]:
    from prism_mt.cli.configs import FOLDER

    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def _studies() -> Sequence[str]:
    from prism_mt.evaluation.studies.published import PAPERS
    from prism_mt.evaluation.studies.registry import studies

    return ["all", *PAPERS, *studies()]


def _stores() -> Sequence[str]:
    from prism_mt._core.cache import STORES

    return STORES


_KNOWN: _Known = {
    "metric": _metrics,
    "model": _models,
    "protocol": _protocols,
    "lang": _languages,
    "src_lang": _languages,
    "device": lambda: ("auto", "cpu", "cuda"),
    "tokenize": _tokenizers,
}
"""Options that take names, and how to list these."""
_KNOWN_ARGUMENTS: Mapping[str, _Known] = {
    "metrics": {"name": _metrics},
    "configs": {"name": _configs},
    "models show": {"model": _models},
    "models get": {"name": _models},
    "models convert": {"model": _models},
    "models digest": {"model": _models},
    "reproduce": {"studies": _studies},
    "reproduce list": {"studies": _studies},
    "data list": {"studies": _studies},
    "cache clear": {"stores": _stores},
    "cache prune": {"stores": _stores},
}
"""The same for positional arguments, by command."""
_NAME_OR_FILE = {"model"}

COMMAND = Command(
    "completion",
    "Print a script that completes commands, options and their values in the shell.",
    (CompletionOptions,),
    run,
    """examples:
  prism completion bash > ~/.local/share/bash-completion/completions/prism
  prism completion zsh > "${fpath[1]}/_prism"      # or: source <(prism completion zsh), after compinit
  prism completion fish > ~/.config/fish/completions/prism.fish""",
)
