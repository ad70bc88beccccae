"""The `prism` command: imports the module of a command, and turns user errors into one sentence and exit code 2."""

import argparse
import contextlib
import dataclasses
import importlib
import logging
import os
import re
import shlex
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from types import FrameType
from typing import Any

from prism_mt import __version__
from prism_mt._core.allocator import keep_freed_memory
from prism_mt._core.arguments import Command, Group, Parser, add_options, flag, parse_options
from prism_mt._core.errors import PrismError
from prism_mt._core.options import near
from prism_mt._core.terminal import PrintableFormatter, prepare_streams, printable

# Listed here so that `prism --help` imports none of them. Each module has a COMMAND.
COMMANDS = {
    "score": "score translations against references or sources",
    "compare": "compare systems: which is better, and could it be chance?",
    "metrics": "list metrics and their options",
    "explain": "show which pieces of a translation determine its score",
    "configs": "print example configurations",
    "corpus": "prepare bitext for training",
    "train": "train a translation or a language model",
    "metric": "train metrics on human judgments",
    "finetune": "fine-tune a model on human judgments",
    "metaeval": "judge metrics against human judgments",
    "challenge": "see which kinds of mistakes a metric notices",
    "reproduce": "make the papers' tables and figures again, beside the published ones",
    "data": "find and fetch the public data of the papers' studies",
    "judgments": "prepare human judgments for fine-tuning",
    "translate": "translate texts",
    "paraphrase": "paraphrase texts",
    "rerank": "choose the best of several translations",
    "filter": "find the good sentence pairs of a bitext",
    "bench": "measure the speed of this machine",
    "cache": "show and shrink the cache",
    "serve": "score over HTTP, with a page to paste texts into",
    "models": "list, inspect, convert and download models",
    "completion": "complete commands and options in the shell",
}
_LOG = logging.getLogger("prism_mt")

_DESCRIPTION = """Prism asks a multilingual translation model how probable a translation is as a
paraphrase of its reference, or as a translation of its source."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    start = time.monotonic()
    try:
        code = _main(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
        _LOG.debug("finished in %.2f s", time.monotonic() - start)
        return code
    except PrismError as error:
        if _LOG.isEnabledFor(logging.DEBUG):
            traceback.print_exc()
        return _fail(_with_flags(str(error)))
    except KeyboardInterrupt:
        print("prism: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output is gone (`prism … | head`).
        _drop_output()
        return 141
    except OSError as error:
        code = _fail(str(error))
        _drop_output()
        return code
    except RecursionError:
        return _fail("the input is nested too deeply")
    except MemoryError:
        return _fail("there is not enough memory for this")


def _fail(sentence: str) -> int:
    print(f"prism: error: {printable(sentence)}", file=sys.stderr)
    return 2


def _main(words: list[str]) -> int:
    if not words:
        _top_parser().print_help()
        return 0
    _set_up_logging()
    return _run(words) if words[0] in COMMANDS else _without_command(words)


def _set_up_logging() -> None:
    """Messages of all libraries on standard error, each on a line."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PrintableFormatter("prism: %(levelname)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    for level in (logging.WARNING, logging.INFO, logging.DEBUG):
        logging.addLevelName(level, logging.getLevelName(level).lower())
    logging.captureWarnings(True)


def _with_flags(message: str) -> str:
    """Write options as flags: errors name them as Python does, such as `src_lang=`."""
    return re.sub(r"`([a-z_]+)=`", lambda match: flag(match[1]), message)


def _drop_output() -> None:
    """Keep Python from reporting unwritten output at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def entry() -> None:
    """Prepare the process, and run the command."""
    keep_freed_memory()
    prepare_streams()
    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(number) == signal.SIG_DFL:  # `nohup` ignores one, which must stay so
            signal.signal(number, _terminate)
    sys.exit(main())


def _terminate(number: int, _: FrameType | None) -> None:
    """Leave through all `finally` blocks, which remove unfinished files."""
    sys.exit(128 + number)


def _top_parser() -> Parser:
    listing = "\n".join(f"  {name:<12} {text}" for name, text in COMMANDS.items())
    parser = Parser(
        prog="prism",
        description=f"{_DESCRIPTION}\n\ncommands:\n{listing}\n\n`prism COMMAND --help` explains each.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"prism {__version__}")
    parser.add_argument("command", nargs="?", metavar="COMMAND")
    return parser


def _without_command(words: list[str]) -> int:
    """Show the help or the version; anything else is a mistake."""
    if not words[0].startswith("-"):
        raise PrismError(f"there is no command {words[0]!r}{near(words[0], COMMANDS)} (see `prism --help`)")
    _top_parser().parse_args(words)
    return 0


def _run(words: list[str]) -> int:
    """Import the module of the command, parse its options and run it."""
    found: Command | Group = importlib.import_module(f"prism_mt.cli.{words[0]}").COMMAND
    program, rest = f"prism {found.name}", words[1:]
    if isinstance(found, Group):
        by_name = {command.name: command for command in found.commands}
        if rest and rest[0] in by_name:
            program, found, rest = f"{program} {rest[0]}", by_name[rest[0]], rest[1:]
        elif found.default and rest and rest[0] not in ("-h", "--help"):
            found = found.default
        else:
            return _group_help(found, program, rest)
    parser = command_parser(found, program)
    namespace = parser.parse_args(rest)
    if namespace.debug:
        _start_debugging(words)
    arguments: list[Any] = [parse_options(kind, namespace) for kind in found.options]
    if found.metrics:
        from prism_mt.cli.metric_options import given_metric_options

        arguments.append(given_metric_options(namespace))
    return found.run(*arguments) or 0


def _start_debugging(words: list[str]) -> None:
    """Log what is done and how long it takes, first of all on what machine."""
    import platform

    from prism_mt._core.environment import available_cores, cache_folder

    _LOG.setLevel(logging.DEBUG)
    _LOG.debug("prism %s, Python %s, %d cores", __version__, platform.python_version(), available_cores())
    _LOG.debug("command: %s", shlex.join(["prism", *words]))
    _LOG.debug("cache: %s", cache_folder())


def command_parser(command: Command, program: str) -> Parser:
    """Return the parser of a command, with the options of the metrics that it computes."""
    parser = Parser(
        prog=program,
        description=command.help,
        epilog=command.epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_options(parser, command.options)
    parser.add_argument("--debug", action="store_true", help="log what is done and how long it takes")
    if command.metrics:
        from prism_mt.cli.metric_options import add_metric_options

        taken = {field.name for kind in command.options for field in dataclasses.fields(kind)}
        only = None if isinstance(command.metrics, bool) else command.metrics
        add_metric_options(parser, taken, only)
    return parser


def _group_help(group: Group, program: str, rest: list[str]) -> int:
    """List a group's commands; a word that is none of them is an error."""
    names = [command.name for command in group.commands]
    if rest and not rest[0].startswith("-"):
        raise PrismError(f"{program} has no command {rest[0]!r}{near(rest[0], names)} (see `{program} --help`)")
    listing = "\n".join(f"  {command.name:<14} {command.help}" for command in group.commands)
    usage = f"{program} COMMAND …"
    parser = Parser(prog=program, usage=usage, formatter_class=argparse.RawDescriptionHelpFormatter)
    if group.default:
        parser = command_parser(group.default, program)
    parser.description = f"{group.help}\n\ncommands:\n{listing}"
    if rest:
        parser.parse_args(rest)
    else:
        parser.print_help()
    return 0
