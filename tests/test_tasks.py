"""The contract of every task: a tiny run is trained from Python, loaded again, used, evaluated and recorded."""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pandas as pd
import pytest
import torch

import regard
from regard.cli.app import app
from regard.core.config import override
from regard.core.errors import ConfigError, UserError
from regard.decode import Sampling
from regard.store import read_metrics
from regard.tasks import Plan, Run, Task
from regard.tasks.base import EvalOptions
from regard.tasks.classify.recipe import classifier
from regard.tasks.contacts.family_input import read_family_input
from regard.tasks.contacts.recipe import contact_predictor
from regard.tasks.fill.recipe import masked_lm
from regard.tasks.image.image_file import read_image_file
from regard.tasks.image.recipe import image_classifier
from regard.tasks.lm.recipe import language_model
from regard.tasks.plan import stored_plan
from regard.tasks.pretrain_tables.recipe import in_context_tables
from regard.tasks.recording import ViewInput
from regard.tasks.summarise.recipe import summariser
from regard.tasks.table.recipe import table_npt
from regard.tasks.tag.recipe import tagger
from regard.tasks.translate.recipe import translator
from regard.tasks.union import AnyTask
from tests.golden import inputs
from tests.proteins.make import write_families

STEPS = 2
SHORT = {"steps": STEPS, "epochs": None, "minutes": None, "min_steps": 0, "log_every": 1, "eval_every": STEPS}
TINY = {"model.width": 16, "model.layers": 1, "model.heads": 2}
WRITING = {"max_tokens": 4}  # for tasks that write text


@dataclass(frozen=True)
class Case:
    """A tiny plan of a task, what its run is asked, and the files that it is evaluated on."""

    plan: Plan
    question: Any
    answers: int  # how many
    files: tuple[str, ...] = ()
    view: ViewInput | None = None


def small(plan: Plan, **changes: Any) -> Plan:
    changes = {name.replace("__", "."): value for name, value in changes.items()}
    budget = {f"training.{name}": value for name, value in SHORT.items()}
    changed: Plan = override(plan, {**TINY, **budget, **changes})
    return changed


def text_file(folder: Path) -> str:
    path = folder / "text.txt"
    path.write_text("\n".join(inputs.sentences(80, 1)) + "\n", encoding="utf-8")
    return str(path)


def pairs(folder: Path, recipe: Callable[[tuple[str, ...], tuple[str, ...]], Plan]) -> Case:
    file = str(inputs.pairs(folder, "pairs", 12, 2))
    plan = small(recipe((file,), (file,)), training__batch_size=4, data__tokenizer={"kind": "Characters"})
    return Case(plan, ["the cat", "a dog"], 2, (file,), ViewInput("the cat", "CAT THE"))


def running_text(folder: Path, recipe: Callable[[tuple[str, ...]], Plan], question: str) -> Case:
    file = text_file(folder)
    more = {"data__length": 16, "data__tokenizer": {"kind": "BPE", "vocab": 300}, "training__batch_size": 4}
    return Case(small(recipe((file,)), **more), [question], 1, (file,), ViewInput(question))


def labelled(folder: Path) -> Case:
    file = str(inputs.labelled(folder, 40))
    plan = small(classifier((file,), (file,)), training__batch_size=8, data__tokenizer={"kind": "Characters"})
    return Case(plan, ["the cat at night.", "a dog"], 2, (file,), ViewInput("the cat"))


def tagged(folder: Path) -> Case:
    """Sentences with a label for each word: whether it is long or short."""
    file = folder / "words.txt"
    lines = [[f"{word}\t{'long' if len(word) > 4 else 'short'}" for word in s.split()] for s in inputs.sentences(24, 3)]
    file.write_text("\n\n".join("\n".join(sentence) for sentence in lines) + "\n", encoding="utf-8")
    tokenizer = {"kind": "BPE", "vocab": 300}
    plan = small(tagger((str(file),), (str(file),)), training__batch_size=8, data__tokenizer=tokenizer)
    return Case(plan, ["the cat sees", ["a", "dog"]], 2, (str(file),), ViewInput("the cat sees"))


def images(folder: Path) -> Case:
    place = inputs.images(folder, 24)
    some = sorted(place.glob("*/*.png"))[:2]
    plan = small(image_classifier((str(place),), (str(place),)), training__batch_size=8)
    return Case(plan, some, 2, (str(place),), ViewInput(image=read_image_file(some[0])))


def table(folder: Path) -> Case:
    file = inputs.table(folder, 40)
    rows = pd.read_csv(file).drop(columns="price").head(3)
    return Case(small(table_npt(str(file), "price"), training__batch_size=16), rows, 3, (str(file),))


def synthetic_tables(folder: Path) -> Case:
    known = pd.DataFrame({"x": range(24), "y": [n % 5 for n in range(24)]})
    target = pd.Series(["ab"[n % 5 > 2] for n in range(24)])
    data = {"data__budget": 600, "data__max_rows": 48, "data__groups": 2}
    plan = small(in_context_tables(), model__cell_width=16, model__cell_layers=1, **data)
    return Case(plan, (known, target, known.head(3)), 3)


def families(folder: Path) -> Case:
    data = write_families(folder / "families")
    few = {"data__crop": 16, "data__copies": 1, "training__batch_size": 2}
    file = str(data / "one.a3m")
    plan = small(contact_predictor((str(data),)), model__width=8, model__pair_width=8, model__window=3, **few)
    return Case(plan, [file], 1, (file,), ViewInput(family=read_family_input(Path(file), None)))


CASES: dict[str, Callable[[Path], Case]] = {
    "Translate": lambda folder: pairs(folder, translator),
    "Summarise": lambda folder: pairs(folder, summariser),
    "LanguageModel": lambda folder: running_text(folder, language_model, "the cat"),
    "MaskedLM": lambda folder: running_text(folder, masked_lm, "the [MASK] sees"),
    "Classify": labelled,
    "Tag": tagged,
    "ClassifyImages": images,
    "MaskedCells": table,
    "InContextTables": synthetic_tables,
    "Contacts": families,
}


@dataclass(frozen=True)
class Trained:
    case: Case
    path: Path
    steps: int

    def load(self) -> Run:
        run: Run = regard.load(self.path)
        return run


@pytest.fixture(scope="module", params=get_args(AnyTask), ids=lambda kind: kind.__name__)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Every task of the union; one that is new there needs a case here."""
    folder = tmp_path_factory.mktemp(request.param.__name__)
    case = CASES[request.param.__name__](folder)
    assert type(case.plan.task) is request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.tasks.pretrain_tables.task.VALIDATION_GROUPS", 1)
        report = regard.train(case.plan, folder / "run")
    return Trained(case, folder / "run", report.steps)


def options(task: Task) -> dict[str, Any]:
    """What makes a question quick to answer, and its answer the same each time."""
    if "generate" in task.named:
        return {**WRITING, "sampling": Sampling(seed=1)}
    return WRITING if "max_tokens" in task.eval_options else {}


def test_it_is_trained_and_scored(trained: Trained):
    assert trained.steps == STEPS
    assert [line["step"] for line in read_metrics(trained.path) if "lr_multiplier" in line] == [1, 2]
    assert (trained.path / "card.md").exists()
    assert type(trained.load().task) is type(stored_plan(trained.path).task) is type(trained.case.plan.task)


def test_a_finished_run_is_left_alone_unless_it_is_overwritten(trained: Trained, notes: list[str]):
    with pytest.raises(UserError, match="already holds a run"):
        regard.train(trained.case.plan, trained.path)
    assert regard.train(trained.case.plan, trained.path, resume=True).steps == 0
    assert any("had already ended, at step 2" in note for note in notes)


def test_two_loads_answer_alike_and_as_many_as_were_asked(trained: Trained):
    first, second = trained.load(), trained.load()
    assert first.task is not None
    answers = first(trained.case.question, **options(first.task))
    again = second(trained.case.question, **options(first.task))
    assert len(answers) == trained.case.answers
    assert list(answers) == list(again)


def test_named_methods_are_there_and_others_are_refused(trained: Trained):
    run = trained.load()
    assert run.task is not None
    for name in run.task.named:
        assert callable(getattr(run, name))
        assert name in dir(run)
    with pytest.raises(UserError, match=f"has no 'fly': its task is {type(run.task).__name__}"):
        run.fly  # noqa: B018


def test_it_is_evaluated_on_files_or_says_why_not(trained: Trained):
    run = trained.load()
    assert run.task is not None
    if not trained.case.files:
        with pytest.raises(UserError, match=str(trained.path)):
            regard.evaluate(run, ["a.csv"])
        return
    taken = EvalOptions(**WRITING) if "max_tokens" in run.task.eval_options else EvalOptions()
    scores = regard.evaluate(run, trained.case.files, taken)
    assert any(isinstance(value, float) for value in scores.values())
    for name in {"max_tokens", "trees"} - set(run.task.eval_options):
        with pytest.raises(ConfigError, match=name):
            regard.evaluate(run, trained.case.files, EvalOptions(**{name: ("a",) if name == "trees" else 256}))


def test_what_has_a_form_in_the_viewer_is_recorded(trained: Trained):
    run = trained.load()
    assert run.task is not None
    form = run.task.view_form(run.config, run.tokenizer is not None)
    if form is None:
        with pytest.raises(UserError):
            run.task.record(run, trained.case.view or ViewInput("x"))
        return
    assert form.hint
    assert trained.case.view is not None
    assert trained.case.view.fits(form.kind)
    recording = run.task.record(run, trained.case.view)
    assert recording.maps
    for one in recording.maps:
        assert one.pattern.shape[1:] == (len(one.queries), len(one.keys))
        torch.testing.assert_close(one.pattern.sum(-1), torch.ones(one.pattern.shape[:2]), rtol=0, atol=1e-4)


def test_the_next_step_is_a_command_that_exists(trained: Trained):
    step = trained.case.plan.task.next_step(Path("runs/my run"))
    [line] = re.findall(r"regard [^|<]+", step)
    words = shlex.split(line)
    assert "runs/my run" in words
    command, bound, _ = app.parse_args(words[1:], exit_on_error=False, print_error=False)
    assert command.__name__.removeprefix("study_") in words[1:3]
    assert bound.arguments
