"""A reader who types what the pages say, with little patience: every command runs, for as short as it can."""

import io
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from regard.bench import sizes
from regard.serve import server as serve_server
from regard.studies.ablate import ablation
from regard.studies.runner import pool
from regard.studies.runner.folder import Job, StudyFolder
from regard.studies.runner.work import work
from regard.studies.scale import laws, scaling
from regard.tables import compare
from regard.tables.baselines import SCIKIT_LEARN
from regard.tasks import training
from regard.tasks.seq2seq.writing import write_targets
from regard.view import server
from tests.bench.small import SMALL as BENCH
from tests.command import regard
from tests.documents import programs
from tests.documents.pages import Command, every_command, verb_of
from tests.interop import worded

SMALL = {"--steps": "2", "--model.width": "16", "--training.batch_size": "4"}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
SECONDS = "0.2"  # that a search for the best takes
TEXT = {**SMALL, "--model.layers": "1", "--data.length": "16"}
# What makes a verb quick: options that take the place of the page's own, or join them.
QUICK: dict[tuple[str, ...], dict[str, str]] = {
    ("train", "dates"): {**SMALL, "--data.train": "64", "--data.valid": "8", "--data.test": "8"},
    ("train", "lm"): TEXT,
    ("train", "fill"): TEXT,
    ("train", "translate"): {**SMALL, "--model.layers": "2"},
    ("train", "summarise"): {**SMALL, "--model.layers": "2"},
    ("train", "classify"): {**SMALL, "--model.layers": "1"},
    ("train", "tag"): {**SMALL, "--model.layers": "1", "--model.heads": "2"},
    ("train", "image"): {**SMALL, "--model.layers": "1"},
    ("fit",): {"--time-limit": SECONDS},
    ("distil",): {"--time-limit": SECONDS, "--mode": "in_context"},
    ("serve",): {"--port": "0"},
    ("compare",): {"--time-limit": SECONDS, "--folds": "2"},
    ("pretrain", "tables"): {
        "--steps": "2", "--model.width": "16", "--model.heads": "2", "--model.layers": "1", "--model.cell-width": "16",
        "--model.cell-layers": "1", "--data.budget": "600", "--data.max-rows": "64", "--data.groups": "4",
        "--data.long-rows": "128",
    },
    ("pretrain", "contacts"): {
        "--steps": "2", "--model.width": "8", "--model.pair-width": "8", "--model.heads": "2", "--model.layers": "1",
        "--data.crop": "16", "--data.copies": "1", "--training.batch-size": "2",
    },
    ("study", "ablate"): {**TEXT, "--seeds": "1", "--only": "no-norm", "--training.optimiser.lr": "0.002"},
    ("study", "scale"): {
        "--steps": "8", "--sizes": "4x1 8x1 16x1 16x2", "--data.length": "16", "--training.batch_size": "4",
        "--training.optimiser.lr": "0.002",
    },
    ("study", "distance"): {"--steps": "2", "--seeds": "1", "--distances": "1 2", "--lengths": "16"},
    ("study", "heads"): {"--batches": "1"},
}  # fmt: skip
MAKERS = ("train", "fit", "distil", "pretrain", "export", "study")
OF_OTHERS = {  # folders that Hugging Face's users have
    "models/gpt2": "gpt2", "models/opus-mt-de-en": "marian", "models/chat": "chat", "models/minilm": "bert",
}  # fmt: skip
ELSEWHERE = {("demo",): "tests/test_demo.py"}


class Reader:
    """In a folder of his own; what a page takes for granted he makes first, by the command of the page that tells."""

    def __init__(self, patch: pytest.MonkeyPatch):
        self.patch = patch
        self.makers: dict[str, Command] = {}
        for command in every_command():
            out = command.option("--out")
            if out and command.words[1] in MAKERS and "--show-settings" not in command.words:
                self.makers.setdefault(out, command)
        patch.setattr(pool, "_run", in_this_process)
        patch.setattr(ablation, "EXTRA_SEEDS", 1)  # the fewest with a standard deviation
        patch.setattr(scaling, "FRACTIONS", (0.25, 0.5, 1.0))
        patch.setattr(laws, "RESAMPLES", 8)
        patch.setattr(sizes, "FULL", BENCH)
        patch.setattr(server, "serve", lambda *_: None)  # the address is bound and printed; nobody waits for a browser
        patch.setattr(serve_server, "run_server", lambda *_: None)
        patch.setattr(compare, "installed_baselines", lambda: SCIKIT_LEARN)
        for module in ("translate.task", "summarise.candidates"):
            patch.setattr(f"regard.tasks.{module}.write_targets", write_little)

    def run(self, command: Command) -> None:
        """Run a command; its exit code must be 0."""
        words = list(command.words)
        if words[0] not in ("regard", "torchrun"):
            programs.run(words)
            return
        verb = verb_of(words[words.index("regard") + 1 :])
        if verb in ELSEWHERE:
            return
        self.make_all([word for word in words if word != command.option("--out")])
        words = quick(words, verb)
        if words[0] == "torchrun":
            under_torchrun(words[1:])
            return
        with self.patch.context() as patch:
            given = Path(command.file).read_bytes() if command.file else (command.echoed or "").encode()
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
            patch.setattr(sys, "argv", words)
            if command.into:
                patch.setattr(sys, "stdout", printed := io.StringIO())
            assert regard(*words[1:]) == 0, f"{command.page}: {' '.join(words)}"
        if command.into:
            Path(programs.at_home(command.into)).write_text(printed.getvalue())

    def make_all(self, words: Sequence[str]) -> None:
        """Runs that are spoken of and are not there yet."""
        for word in words:
            if word in self.makers and not Path(word).exists():
                self.run(self.makers[word])
            elif word in OF_OTHERS and not Path(word).exists():
                worded.folder(OF_OTHERS[word], Path(word))

    def python(self, page: str, blocks: Sequence[str]) -> None:
        """Blocks go on from one another; searches for the best take a moment."""
        for block in blocks:
            self.make_all(re.findall(r'load\("([^"]+)"\)', re.sub(r"#.*", "", block)))
        code = re.sub(r"time_limit=\d+", f"time_limit={SECONDS}", "\n".join(blocks))
        exec(compile(code, page, "exec"), {"__name__": "page"})


def under_torchrun(words: list[str]) -> None:
    """In as many processes as it says; words for several machines are only read, by both who read them."""
    from torch.distributed import run

    read = run.get_args_parser().parse_args(words)
    if read.nnodes != "1:1":
        assert regard(*read.training_script_args, "--show-settings") == 0
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        run.main(words)  # it keeps the signals to itself
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def quick(words: list[str], verb: tuple[str, ...]) -> list[str]:
    """The command with options that make it short; an option of several values is one text here."""
    if "--show-settings" in words or "--add" in words:  # `fit --add` trains nothing
        return words
    for option, value in QUICK.get(verb, {}).items():
        if "--init" in words and option.startswith("--model."):  # a pre-trained model has its own sizes
            continue
        if option in words:
            place = words.index(option) + 1
            words = [*words[:place], *value.split(), *words[place + 1 :]]
        else:
            words = [*words, option, *value.split()]
    makes = verb[0] in ("train", "fit", "distil", "pretrain") and "--resume" not in words
    return [*words, "--overwrite"] if makes else words


def write_little(
    model: Any, tokenizer: Any, texts: Any, max_tokens: int, *, write: Any = write_targets, **more: Any
) -> Any:
    """What has learned nothing does not know when to end."""
    return write(model, tokenizer, texts, min(max_tokens, 12), **more)


def in_this_process(folder: StudyFolder, pending: list[Job], processes: int, exact_match: bool, eta: bool) -> None:
    """The runs of a study, without seconds to start each, and without a picture of each one's losses."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "plot_losses", lambda run: None)
        for job in pending:
            assert work(folder.path, job.key, exact_match=exact_match) == 0
