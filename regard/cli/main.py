"""From words on the command line to a verb, and from an error to one line and an exit code."""

import logging
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from inspect import signature
from typing import Any

from cyclopts import CycloptsError, MissingArgumentError, UnusedCliTokensError

from regard.cli.app import app
from regard.cli.interrupted import interrupted, outputs
from regard.cli.known_settings import check_names
from regard.core.errors import ConfigError, UserError
from regard.core.machine import COMMAND

PARTS = ("--model", "--adapter")  # settings of a plan that are named without a dot
EXAMPLES = {  # of options that are often forgotten
    "--out": "add the folder or file to write, such as --out runs/first",
    "--target": "add the column to predict, such as --target price",
}
STANDARD_INPUT = "/dev/stdin"  # the same as a lone dash, which the parser takes for an option


def main(arguments: Sequence[str] | None = None) -> None:
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    show_notes()
    before = outputs(words)
    running = COMMAND.set(tuple(words))
    try:
        import_parts()
        code = run_command(words)
        sys.stdout.flush()  # so that a closed pipe is noticed here
    except BrokenPipeError:  # the reader of our output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except KeyboardInterrupt:
        code = 130
        logging.getLogger("regard").warning("regard: %s", interrupted(before))  # once: of the first rank
    except Exception as error:
        if debug:
            raise
        code = complain(error)
    finally:
        COMMAND.reset(running)  # what this process does next, such as a notebook, is not this command
    sys.exit(code)


def show_notes() -> None:
    """Messages of the library go to stderr as they are, from the first rank alone; results go to stdout."""
    logger = logging.getLogger("regard")
    if os.environ.get("RANK", "0") != "0":
        logger.setLevel(logging.CRITICAL)
        return
    logger.handlers = [_Stderr()]
    logger.setLevel(logging.INFO)
    logger.propagate = False


class _Stderr(logging.Handler):
    """Writes to whatever stderr is at the moment, which tests and notebooks replace."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), file=sys.stderr, flush=True)


def import_parts() -> None:
    """Import the modules that REGARD_PARTS names, with parts of the user's own: in this folder, or installed."""
    names = os.environ.get("REGARD_PARTS", "").split()
    if names:
        sys.path.insert(0, os.getcwd())
    for name in names:
        try:
            import_module(name)
        except Exception as error:
            raise ConfigError(f"REGARD_PARTS: {name} cannot be imported ({type(error).__name__}: {error})") from error


def run_command(words: list[str]) -> int:
    plain, changes = split_settings([STANDARD_INPUT if word == "-" else word for word in words])
    command, bound, unparsed = app.parse_args(plain, exit_on_error=False, print_error=False)
    extra: dict[str, Any] = {}
    if "changes" in unparsed:
        check_names(changes)
        extra["changes"] = changes
    elif changes:
        raise ConfigError(f"unknown option --{next(iter(changes))}: this verb has no such settings")
    run: Callable[..., Any] = command
    try:
        return run(*bound.args, **bound.kwargs, **extra) or 0
    except ConfigError as error:
        raise ConfigError(as_typed(str(error), run)) from error


def as_typed(line: str, verb: Callable[..., Any]) -> str:
    """An error line that begins with the name of a setting: as the verb's option of that name, where it has one."""
    name, colon, rest = line.partition(": ")
    parameters = signature(verb).parameters.values()
    options = {one.name for one in parameters if one.kind is one.KEYWORD_ONLY}
    options |= {field.name for one in parameters if is_dataclass(one.annotation) for field in fields(one.annotation)}
    plain = name.removeprefix("training.")
    return f"--{plain.replace('_', '-')}: {rest}" if colon and plain in options else line


def split_settings(words: list[str]) -> tuple[list[str], dict[str, Any]]:
    """Settings of a plan (`--model RNN`, `--model.layers 6`, `--model.layers=6`) apart from all other words."""
    plain, settings, rest = [], {}, iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if not (name.startswith("--") and ("." in name or name in PARTS)):
            plain.append(word)
            continue
        text = value if equals else next(rest, None)
        if text is None or (not equals and text.startswith("--")):
            raise ConfigError(f"{name}: needs a value")
        settings[name[2:].replace("-", "_")] = read_value(name, text)
    return plain, settings


def read_value(name: str, text: str) -> Any:
    """A setting's value as YAML reads it: a number, true, null, a list, or text."""
    import yaml

    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise ConfigError(f"{name}: {text!r} is not a value") from None


def missing(error: MissingArgumentError) -> str:
    """Which word is not there, and where to read about it; where one is only misspelt, the library says so."""
    if error.argument is None or error.keyword is not None or "Did you mean" in str(error):
        return str(error)
    verb = " ".join(error.command_chain or ())
    name = error.argument.name
    shown = name.removeprefix("--").upper() if error.argument.field_info.is_positional else name
    hint = EXAMPLES.get(shown, f"`regard {verb} --help` tells what it is")
    return f"{verb}: {shown} is missing; {hint}"


def complain(error: Exception) -> int:
    """One line for a person; gives the exit code."""
    if isinstance(error, UserError):
        line, code = str(error), error.exit_code
    elif isinstance(error, MissingArgumentError):
        line, code = missing(error), 2
    elif isinstance(error, UnusedCliTokensError):
        line, code = f"{' '.join(error.unused_tokens or ())}: more words than the verb takes", 2
    elif isinstance(error, CycloptsError):
        line, code = str(error), 2
    elif isinstance(error, OSError):
        line, code = f"{error.filename or 'standard output'}: {error.strerror}", 1
    else:
        line, code = f"internal error ({type(error).__name__}: {error}); --debug shows where", 70
    if line:  # empty: another rank has reported it
        sys.stderr.write("regard: " + " ".join(line.split()) + "\n")
    return code
