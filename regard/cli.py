"""The command line: verbs, each a few lines that call the library. Nothing heavy is imported before a verb needs it."""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, CycloptsError, Parameter

import regard
from regard.core.errors import ConfigError, UserError

if TYPE_CHECKING:
    from regard.recipes import Plan
    from regard.train import Report

Changes = Annotated[dict[str, Any] | None, Parameter(parse=False)]

app = App(
    name="regard",
    version=regard.__version__,
    help_format="plaintext",  # reading Markdown would cost 50 ms
    default_parameter=Parameter(negative=(), consume_multiple=True),
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


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Run:
    """What every training verb can be told.

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

    out: Path
    steps: int | None = None
    epochs: float | None = None
    minutes: float | None = None
    seed: int | None = None
    resume: bool = False
    overwrite: bool = False
    show_settings: bool = False

    def changes(self) -> dict[str, Any]:
        """A budget on the command line replaces the recipe's own."""
        budget = {"steps": self.steps, "epochs": self.epochs, "minutes": self.minutes}
        given = {} if all(value is None for value in budget.values()) else budget
        if self.seed is not None:
            given["seed"] = self.seed
        return {f"training.{name}": value for name, value in given.items()}

    def make(self, plan: "Plan", changes: dict[str, Any] | None, train: Callable[..., "Report"]) -> int:
        """Settle the plan, then print it or run it; gives the exit code."""
        from regard.recipes import settle

        plan = settle(plan, {**self.changes(), **(changes or {})}, self.out, self.resume)
        if self.show_settings:
            from regard.core.config import to_yaml

            print(to_yaml(plan), end="")
            return 0
        report = train(plan, self.out, resume=self.resume, overwrite=self.overwrite)
        return 128 + report.stopped_by if report.stopped_by else 0


@train.command(name="dates")
def train_dates(run: Run, *, changes: Changes = None) -> int:
    """Written dates in seven languages to ISO dates (generated data).

    Any setting can be changed with a dotted option, such as --model.layers 4 or --training.optimiser Muon;
    --show-settings prints them all.
    """
    from regard.recipes import dates, train_translator

    return run.make(dates(), changes, train_translator)


@train.command(name="lm")
def train_lm(run: Run, *, data: tuple[Path, ...], valid: tuple[Path, ...] = (), changes: Changes = None) -> int:
    """A language model of your own text, which `regard generate` then writes with.

    Any setting can be changed with a dotted option, such as --model.layers 4 or --data.tokenizer BPE;
    --show-settings prints them all.

    Parameters
    ----------
    data
        Text files: .txt, or .jsonl, .csv or .parquet with a field `text`; also packed with .gz, .xz or .zst.
    valid
        Files to measure by; without them the last tenth of the data.
    """
    from regard.recipes import language, train_language_model

    plan = language(tuple(map(str, data)))
    return run.make(plan, {"data.valid": [str(path) for path in valid], **(changes or {})}, train_language_model)


@train.command(name="translate")
def train_translate(run: Run, *, train: tuple[Path, ...], valid: tuple[Path, ...], changes: Changes = None) -> int:
    """A translator from pairs of sentences, for `regard translate`.

    --model chooses Transformer or RNN (with --model.attention Additive, or without). Any setting can be changed with
    a dotted option; --show-settings prints them all.

    Parameters
    ----------
    train
        Two files that run in parallel, or one with source and target in each row (.tsv, .csv, .jsonl, .parquet).
    valid
        The same, to measure by.
    """
    from regard.recipes import train_translator, translator

    plan = translator(tuple(map(str, train)), tuple(map(str, valid)))
    return run.make(plan, changes, train_translator)


@train.command(name="classify")
def train_classify(run: Run, *, train: tuple[Path, ...], valid: tuple[Path, ...], changes: Changes = None) -> int:
    """A classifier from labelled texts, for `regard classify`.

    Any setting can be changed with a dotted option; --show-settings prints them all.

    Parameters
    ----------
    train
        Files with a label and a text in each row (.tsv, .csv, .jsonl, .parquet; also packed).
    valid
        The same, to measure by.
    """
    from regard.recipes import classifier, train_classifier

    plan = classifier(tuple(map(str, train)), tuple(map(str, valid)))
    return run.make(plan, changes, train_classifier)


@app.command
def classify(run: Path) -> None:
    """Name the label of each line of standard input.

    Parameters
    ----------
    run
        Run folder of a classifier.
    """
    for label in regard.load(run).classify(read_lines()):
        print(label)


@app.command
def generate(
    run: Path,
    *,
    prompt: str = "",
    tokens: int = 200,
    temperature: float = 0.8,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    repetition: float = 1.0,
    stop: tuple[str, ...] = (),
    seed: int | None = None,
) -> None:
    """Write text that follows a prompt, as it comes.

    Parameters
    ----------
    run
        Run folder of a language model.
    prompt
        What to go on from.
    tokens
        Most tokens to write.
    temperature
        Below 1 more sure, above 1 more adventurous; 0 always takes the likeliest.
    top_k
        Choose among this many only.
    top_p
        Choose among the likeliest that together have this probability.
    min_p
        Choose among those at least this share as likely as the likeliest.
    repetition
        Above 1 makes what has been written less likely.
    stop
        End before this text; may be given several times.
    seed
        The same seed writes the same text.
    """
    from regard.decode import Sampling

    sampling = Sampling(temperature, top_k, top_p, min_p, repetition, seed)
    sys.stdout.write(prompt)
    for piece in regard.load(run).generate(prompt, tokens, sampling, stop):
        sys.stdout.write(piece)
        sys.stdout.flush()
    sys.stdout.write("\n")


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
def evaluate(run: Path, *files: Path, json: bool = False, longest: int = 256) -> None:
    """Measure a run on files that it has not learned from.

    Parameters
    ----------
    run
        Run folder.
    files
        Files as in training: text for a language model; two parallel files or one of pairs for a translator.
    json
        Print one JSON object.
    longest
        Most tokens to write for a line.
    """
    from regard.recipes.measure import measure

    if not files:
        raise ConfigError("evaluate: name the files to measure by")
    print_scores(measure(regard.load(run), tuple(map(str, files)), longest), json)


def print_scores(scores: dict[str, Any], as_json: bool) -> None:
    if as_json:
        import json

        print(json.dumps(scores))
        return
    for name, value in scores.items():
        print(f"{name}: {f'{value:.4f}' if isinstance(value, float) else value}")


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
        if not (name.startswith("--") and ("." in name or name == "--model")):
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
