"""`prism completion`: scripts that complete commands, options and their values in bash, zsh and fish."""

import argparse
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from prism_mt._core.arguments import Command, Group
from prism_mt._core.options import Config, option

Shell = Literal["bash", "zsh", "fish"]


@dataclass(frozen=True)
class CompletionOptions(Config):
    """Options of `prism completion`."""

    shell: Shell = option("the shell to write a script for", positional=True)


@dataclass(frozen=True)
class Flag:
    """An option as a shell sees it: its spellings, what it is for, and its values where they are known."""

    names: tuple[str, ...]
    help: str
    takes_value: bool
    values: tuple[str, ...] = ()
    """Empty where any word will do; then files are offered."""


def run(options: CompletionOptions) -> None:
    """Print the script."""
    write = {"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell]
    print(write(dict(all_flags())), end="")


def all_flags() -> Iterator[tuple[str, list[Flag]]]:
    """Every command, such as `models list`, with its flags; a group stands for its default, which may be empty."""
    from prism_mt.cli.main import COMMANDS, command_parser

    for name in COMMANDS:
        found: Command | Group = importlib.import_module(f"prism_mt.cli.{name}").COMMAND
        if isinstance(found, Command):
            yield name, _flags(command_parser(found, f"prism {name}"))
            continue
        yield name, _flags(command_parser(found.default, f"prism {name}")) if found.default else []
        for command in found.commands:
            yield f"{name} {command.name}", _flags(command_parser(command, f"prism {name} {command.name}"))


def _flags(parser: argparse.ArgumentParser) -> list[Flag]:
    known = _known_values()
    return [
        Flag(
            tuple(action.option_strings),
            " ".join((action.help or "").replace("%%", "%").split()),
            action.nargs != 0,
            tuple(map(str, action.choices or known.get(action.dest.removeprefix("metric."), ()))),
        )
        for action in parser._actions
        if action.option_strings
    ]


def _known_values() -> dict[str, tuple[str, ...]]:
    """Names that options take besides files: of metrics, models and protocols."""
    from prism_mt.evaluation.protocols import PROTOCOLS, SUITES
    from prism_mt.metrics.registry import list_metrics
    from prism_mt.models.zoo import CATALOG

    return {
        "metric": tuple(list_metrics()),
        "model": tuple(model.name for model in CATALOG),
        "protocol": (*PROTOCOLS, *SUITES),
    }


def _subcommands(commands: dict[str, list[Flag]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"": [name for name in commands if " " not in name]}
    for name in commands:
        group, _, own = name.partition(" ")
        if own:
            found.setdefault(group, []).append(own)
    return found


def _bash(commands: dict[str, list[Flag]]) -> str:
    subcommands = _subcommands(commands)
    cases = []
    for name, flags in commands.items():
        words = " ".join([*subcommands.get(name, []), *(word for flag in flags for word in flag.names)])
        values = "".join(
            f"            {'|'.join(flag.names)}) values={_quote(' '.join(flag.values))} ;;\n"
            for flag in flags
            if flag.values
        )
        head = f"    {_quote(name)})\n        words={_quote(words)}\n        case $option in\n"
        cases.append(f"{head}{values}            *) ;;\n        esac ;;\n")
    groups = {group: names for group, names in subcommands.items() if group}
    lists = "".join(f"    {group}) subs=' {' '.join(names)} ' ;;\n" for group, names in groups.items())
    script = _BASH.replace("@TOP@", _quote(" ".join(subcommands[""])))
    return script.replace("@SUB@", lists).replace("@CASES@", "".join(cases))


def _zsh(commands: dict[str, list[Flag]]) -> str:
    """Zsh runs bash's function: its own `bashcompinit` is made for that."""
    return "autoload -U +X bashcompinit && bashcompinit\n" + _bash(commands)


def _fish(commands: dict[str, list[Flag]]) -> str:
    lines = ["complete -c prism -e"]
    subcommands = _subcommands(commands)
    from prism_mt.cli.main import COMMANDS

    for name, text in COMMANDS.items():
        lines.append(f"complete -c prism -n __fish_use_subcommand -f -a {name} -d {_quote(text)}")
    for name, flags in commands.items():
        group, _, own = name.partition(" ")
        seen = f"__fish_seen_subcommand_from {group}"
        others = " ".join(subcommands.get(group, []))
        if own:
            lines.append(f"complete -c prism -n '{seen}; and not __fish_seen_subcommand_from {others}' -a {own}")
            seen += f"; and __fish_seen_subcommand_from {own}"
        elif others:
            seen += f"; and not __fish_seen_subcommand_from {others}"
        for flag in flags:
            spelled = " ".join(
                f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}" for word in flag.names
            )
            values = (
                f" -x -a {_quote(' '.join(flag.values))}" if flag.values else " -r" if flag.takes_value else ""
            )
            lines.append(f"complete -c prism -n '{seen}' {spelled} -d {_quote(flag.help[:60])}{values}")
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    """Quote a word for any of the three shells."""
    return "'" + text.replace("'", "’") + "'"


# The last option is looked for, since `--metric` and others take several values.
_BASH = """_prism() {
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} option= words= values= subs= place
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W @TOP@ -- "$word"))
        return
    fi
    case $command in
@SUB@    esac
    if [ "$COMP_CWORD" -gt 2 ] && [[ $subs == *" ${COMP_WORDS[2]} "* ]]; then
        command="$command ${COMP_WORDS[2]}"
    fi
    for ((place = COMP_CWORD - 1; place > 1; place--)); do
        case ${COMP_WORDS[place]} in -*) option=${COMP_WORDS[place]}; break ;; esac
    done
    case $command in
@CASES@    esac
    if [[ $word != -* && -n $values ]]; then
        COMPREPLY=($(compgen -W "$values" -- "$word"))
    elif [[ $word == -* || ( -z $option && -n $subs && $COMP_CWORD -eq 2 ) ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$word"))
    else
        COMPREPLY=($(compgen -f -- "$word"))
    fi
}
complete -o filenames -F _prism prism
"""

COMMAND = Command(
    "completion",
    "Print a script that completes commands, options and their values in the shell.",
    (CompletionOptions,),
    run,
    """examples:
  prism completion bash > ~/.local/share/bash-completion/completions/prism
  source <(prism completion zsh)      # in ~/.zshrc, after compinit
  prism completion fish > ~/.config/fish/completions/prism.fish""",
)
