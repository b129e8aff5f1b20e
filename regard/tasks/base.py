"""A task: where data, model and scores meet. Everything that depends on the job is a method of its task.

Training, the run folder, studies, the viewer and the command line know only this interface. A new task is a folder with
such a class, its recipe and its verbs, and a name in the union (`union.py`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from html import escape
from pathlib import Path
from shlex import quote
from typing import Any, ClassVar, Protocol, runtime_checkable

from torch import Tensor, nn

from regard.core.batches import Batches, Loss
from regard.core.config import Config
from regard.core.errors import ConfigError, UserError
from regard.data.trees.conllu import Parse
from regard.decode import Beam
from regard.interop.base_model import BaseModel
from regard.models import Model
from regard.store.loaded import Loaded
from regard.tasks.baseline import Measure, Scores, no_baseline
from regard.tasks.recording import Recording, ViewInput
from regard.text import Tokenizer
from regard.train import Ranks, Sample, Training


@runtime_checkable
class Settings(Protocol):
    """A plan as a task sees it."""

    @property
    def data(self) -> Any: ...

    @property
    def model(self) -> Any: ...

    @property
    def training(self) -> Training: ...

    @property
    def init(self) -> str | None: ...


@dataclass(frozen=True)
class Workspace:
    """Where a run is prepared: its folder, its ranks, and whether it continues one that is there."""

    out: Path
    ranks: Ranks = Ranks()
    resume: bool = False
    tokenizer: Tokenizer | None = None  # of the pre-trained model that the run starts from


@dataclass(frozen=True)
class Prepared:
    """Data that is ready for training, and the task and model with what the data determines, such as the vocabulary."""

    task: Any  # of the plan's class
    model: Model
    train: Batches
    valid: Batches | None
    tokenizer: Tokenizer | None
    score: Callable[["Run", float], Scores]  # of the trained run, given its validation loss
    keep: Callable[[], object] = lambda: None  # moves what else the folder should hold into it
    sample: Sample | None = None  # of what the model produces, logged beside each validation loss
    weights: Mapping[str, Tensor] = field(default_factory=dict)  # to start from; others are initialised at random
    baseline: Measure = no_baseline  # a simple method on the same validation data
    calibrate: Callable[["Run"], Any] | None = None  # the task with what is fitted on the validation data at the end
    scored_on: int = 0  # examples that the scores are of; 0: not said, as there is no number of them that matters
    refit: Callable[[], object] = lambda: None  # after scoring: fit what takes seconds again, on all the data


@dataclass(frozen=True, kw_only=True)
class EvalOptions:
    """Options of `evaluate`; None or empty: not given. A task lists those that it takes."""

    max_tokens: int | None = None
    beam: Beam | None = None
    trees: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class ViewForm:
    """What the viewer asks a person for."""

    kind: str  # of the form: text, pair, gaps, image, row, …
    hint: str


class Task(Config, ABC):
    """The settings of a job as a frozen dataclass, and what follows from them."""

    data: ClassVar[tuple[type, ...]]  # the kinds of data that it is trained on
    unit: ClassVar[str] = "tokens"  # what batches are counted in
    verb: ClassVar[str]  # what its runs do, as in `regard train translate`
    next_command: ClassVar[str]  # what to type once a run is trained; {} is its folder
    named: ClassVar[tuple[str, ...]] = ()  # methods that a run offers under their own name, such as run.translate
    eval_options: ClassVar[tuple[str, ...]] = ()  # the fields of `EvalOptions` that it takes
    max_tokens: ClassVar[int] = 256  # written for an input, where the caller names no number
    finetune_epochs: ClassVar[float] = 10.0  # at most, of a run that starts from a pre-trained model
    reads_init: ClassVar[bool] = False  # `prepare` itself reads the weights that `init` names

    # Training

    @abstractmethod
    def loss(self, model: nn.Module, batch: Any) -> Loss: ...

    def loss_unit(self, model: Model) -> str:
        """The unit of the mean loss, for reports."""
        return f"nats per {self.unit.removesuffix('s')}"

    @abstractmethod
    def prepare(self, plan: Settings, workspace: Workspace) -> AbstractContextManager[Prepared]:
        """Read the data and check that data, task and model go together; nothing is written into the run folder yet."""

    def start_from(self, base: BaseModel) -> tuple[Any, Model]:
        """This task and its model for a run that starts from a pre-trained one. The message of an error says, after
        the name of the model, why it does not fit."""
        raise ConfigError(f", and `{self.verb}` always starts from random weights; leave it out")

    # Use

    @abstractmethod
    def answer(self, run: "Run", inputs: Any, **options: Any) -> Any:
        """What `run(inputs)` returns."""

    @abstractmethod
    def evaluate(self, run: "Run", files: Sequence[str], options: EvalOptions) -> dict[str, Any]:
        """Scores on files in the form that training took, with what exactly was counted."""

    def read_extra(self, path: Path) -> Mapping[str, Any]:
        """What a run folder holds for this task beside the model, read when a run is loaded."""
        return {}

    # Viewing

    def view_form(self, config: Model, has_tokenizer: bool) -> ViewForm | None:
        """What the viewer asks for; None: such a model can be shown by its training curves only."""
        return None

    def record(self, run: "Run", view_input: ViewInput, tree: Parse | None = None) -> Recording:
        """The answer to one input, with every attention map behind it."""
        raise UserError(f"{run.path}: the attention of a {type(run.config).__name__} is not drawn; its curves are")

    # Models from elsewhere

    @classmethod
    def adopt(cls, config: Model, extra: Mapping[str, Any]) -> "Task | None":
        """This task for a model whose folder names none, such as one of Hugging Face; None: not for this model."""
        return None

    def next_step(self, out: Path) -> str:
        return f"next: {self.next_command.format(quote(str(out)))}"


class NotOfThisRunError(UserError, AttributeError):
    """A run was asked for something that its task does not do."""


@dataclass(frozen=True)
class Run(Loaded):
    """A trained model ready to use: `run(inputs)` does what it was trained for.

    The methods that its task names, such as `run.translate`, are there too.
    """

    task: Task | None = None

    def __call__(self, inputs: Any, **options: Any) -> Any:
        if self.task is None:
            raise UserError(f"{self.path}: its config names no task, so it can only be called as run.model(…)")
        return self.task.answer(self, inputs, **options)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        parameters = sum(weight.numel() for weight in self.model.parameters())
        rows = {
            "folder": self.path,
            "task": "none" if self.task is None else type(self.task).__name__,
            "model": type(self.config).__name__,
            "parameters": f"{parameters:,}",
            "methods": ", ".join(self.task.named) if self.task is not None else "run.model",
        }
        cells = (f"<tr><th>{name}</th><td>{escape(str(value))}</td></tr>" for name, value in rows.items())
        return f"<table>{''.join(cells)}</table>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        task = self.__dict__.get("task")
        if task is not None and name in task.named:
            return partial(getattr(task, name), self)
        kind = "its config names no task" if task is None else f"its task is {type(task).__name__}"
        raise NotOfThisRunError(f"{self.__dict__.get('path')}: has no {name!r}: {kind}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(self.task.named if self.task is not None else ())]


def check_list(inputs: object, what: str = "texts") -> None:
    """Refuse a single input where a list is expected: a text is a sequence too, of its letters."""
    if isinstance(inputs, str | bytes | Path):
        raise ConfigError(f"a list of {what} is needed: put [ ] around a single one")
