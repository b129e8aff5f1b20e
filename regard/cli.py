"""The command line: verbs, each a few lines that call the library. Nothing heavy is imported before a verb needs it."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, CycloptsError, Parameter

import regard
from regard.core.errors import ConfigError, UserError

PLAN = ("data", "task", "model", "training")  # what a plan is made of; any key of it is an option
Changes = Annotated[dict[str, Any] | None, Parameter(parse=False)]

app = App(
    name="regard",
    version=regard.__version__,
    help_format="plaintext",  # reading Markdown would cost 50 ms
    default_parameter=Parameter(negative=()),
    help="Every transformer from one attention operator: train it, look inside, ship it.",
    help_epilogue="Settings of a run are dotted options, such as --model.layers 6 --model.attention BigBird. "
    "--debug shows the traceback of an error.",
)
train = App(name="train", help="Train a model; the result is a run folder.")
app.command(train)


@app.command
def demo(*, out: Path = Path("runs/demo"), quick: bool = False) -> int:
    """Train a small date translator from nothing and show what it attends to: about a minute.

    Parameters
    ----------
    out
        Run folder to write; what an earlier demo left there is replaced.
    quick
        A few steps only, to see that everything runs.
    """
    from regard.demo import run_demo

    return run_demo(out, quick)


@train.command(name="dates")
def train_dates(
    *,
    out: Path,
    steps: int | None = None,
    epochs: float | None = None,
    minutes: float | None = None,
    seed: int | None = None,
    resume: bool = False,
    overwrite: bool = False,
    show_settings: bool = False,
    changes: Changes = None,
) -> int:
    """Written dates in seven languages to ISO dates (generated data).

    Any setting can be changed with a dotted option, such as --model.layers 4 or --training.optimiser Muon;
    --show-settings prints them all.

    Parameters
    ----------
    out
        Run folder to write.
    steps
        Train for this many steps.
    epochs
        Train for this many passes over the data.
    minutes
        Train for this long.
    seed
        Seed of every random number.
    resume
        Go on from the last checkpoint in the folder, exactly as if it had never stopped.
    overwrite
        Replace the run that the folder holds.
    show_settings
        Print the settings as YAML and stop.
    """
    from regard.recipes import dates, settle, train_translator

    plan = settle(dates(), {**budget(steps, epochs, minutes), **seeded(seed), **(changes or {})}, out, resume)
    if show_settings:
        from regard.core.config import to_yaml

        print(to_yaml(plan), end="")
        return 0
    report = train_translator(plan, out, resume=resume, overwrite=overwrite)
    return 128 + report.stopped_by if report.stopped_by else 0


@app.command
def translate(run: Path, *, longest: int = 256) -> None:
    """Translate the lines of standard input.

    Parameters
    ----------
    run
        Run folder of a translator.
    longest
        Most tokens to write for a line.
    """
    for answer in regard.load(run).translate(read_lines(), longest):
        print(answer)


@app.command
def show(run: Path) -> None:
    """What a run folder holds: the model, its size, how it was trained, its last scores.

    Parameters
    ----------
    run
        Run folder, or a Hugging Face folder.
    """
    from regard.describe import describe_run

    print(describe_run(run))


@app.command
def export(run: Path, *, to: Literal["huggingface"], out: Path) -> None:
    """Write a run in another tool's format.

    Parameters
    ----------
    run
        Run folder of a GPT, BERT or ViT.
    to
        The format.
    out
        New folder to write.
    """
    from regard.interop import export_huggingface

    export_huggingface(run, out)
    print(f"wrote {out}: transformers loads it with AutoModel.from_pretrained({str(out)!r})")


def budget(steps: int | None, epochs: float | None, minutes: float | None) -> dict[str, Any]:
    """A budget on the command line replaces the recipe's own."""
    given: dict[str, float | None] = {"steps": steps, "epochs": epochs, "minutes": minutes}
    if all(value is None for value in given.values()):
        return {}
    return {f"training.{name}": value for name, value in given.items()}


def seeded(seed: int | None) -> dict[str, Any]:
    return {} if seed is None else {"training.seed": seed}


def read_lines() -> list[str]:
    """Standard input as lines; bytes that are not UTF-8 are named by line."""
    lines: list[str] = []
    if sys.stdin is None:
        return lines
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            lines.append(line.decode("utf-8").rstrip("\r\n"))
        except UnicodeDecodeError:
            raise UserError(f"standard input, line {number}: is not UTF-8") from None
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    try:
        code = run_words(words)
        sys.stdout.flush()  # so that a reader who has gone is noticed here
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except KeyboardInterrupt:
        code = 130
    except Exception as error:
        if debug:
            raise
        code = complain(error)
    sys.exit(code)


def run_words(words: list[str]) -> int:
    plain, changes = split_settings(words)
    command, bound, unparsed = app.parse_args(plain, exit_on_error=False, print_error=False)
    extra: dict[str, Any] = {}
    if "changes" in unparsed:
        extra["changes"] = changes
    elif changes:
        raise ConfigError(f"unknown option --{next(iter(changes))}: this verb has no such settings")
    run: Callable[..., Any] = command
    return run(*bound.args, **bound.kwargs, **extra) or 0


def split_settings(words: list[str]) -> tuple[list[str], dict[str, Any]]:
    """Settings of a plan (`--model RNN`, `--model.layers 6`, `--model.layers=6`) apart from all other words."""
    plain, settings, rest = [], {}, iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if not (name.startswith("--") and ("." in name or name[2:] in PLAN)):
            plain.append(word)
            continue
        text = value if equals else next(rest, None)
        if text is None or (not equals and text.startswith("--")):
            raise ConfigError(f"{name}: needs a value")
        settings[name[2:]] = read_value(name, text)
    return plain, settings


def read_value(name: str, text: str) -> Any:
    """A setting's value as YAML reads it: a number, true, null, a list, or text."""
    import yaml

    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise ConfigError(f"{name}: {text!r} is not a value") from None


def complain(error: Exception) -> int:
    """One line for a person; gives the exit code."""
    if isinstance(error, UserError):
        line, code = str(error), error.exit_code
    elif isinstance(error, CycloptsError):
        line, code = str(error), 2
    elif isinstance(error, OSError):
        line, code = f"{error.filename or 'standard output'}: {error.strerror}", 1
    else:
        line, code = f"this is a fault of regard ({type(error).__name__}: {error}); --debug shows where", 70
    if line:  # empty: another rank has spoken
        sys.stderr.write("regard: " + " ".join(line.split()) + "\n")
    return code
