"""Every change makes another plan that can be built, or is left out with a reason."""

from dataclasses import replace

import pytest

from regard.core.errors import ConfigError
from regard.models import BERT, GPT, NPT, RNN, RNNLM, RNNClassifier, Transformer
from regard.studies.ablate.base import SIZES, ablation_bases, base_plan
from regard.studies.ablate.changes import CHANGES, applicable
from regard.tasks.plan import Plan


def base(task: str):
    target = "y" if task == "table" else None
    valid = ("v.tsv",) if task == "translate" else ()
    plan = base_plan(task, ("a.tsv",), valid, target, 100.0)
    model = plan.model
    if isinstance(model, GPT | BERT | Transformer):
        model = replace(model, vocab=20)
    if isinstance(model, BERT):
        model = replace(model, head=replace(model.head, labels=2))
    if isinstance(model, NPT):
        model = replace(model, categories=(0, 3))
    return replace(plan, model=model)


@pytest.mark.parametrize(("task", "least"), [("lm", 24), ("translate", 24), ("classify", 22), ("table", 14)])
def test_most_changes_apply_and_the_others_have_a_reason(task: str, least: int):
    plan, taken = base(task), {}
    for change in CHANGES:
        changed, reason = applicable(plan, change)
        assert (changed is None) == bool(reason), change.name
        if changed is not None:
            taken[change.name] = changed
            assert (changed.data, changed.task) == (plan.data, plan.task), "what is measured stays the same"
    assert len(taken) >= least, sorted(taken)
    assert len({str(changed) for changed in taken.values()}) == len(taken), "no two changes are the same"


def test_recurrence_replaces_attention_where_there_is_an_order():
    rnn = next(change for change in CHANGES if change.name == "rnn")
    made = {task: applicable(base(task), rnn) for task in ("lm", "translate", "classify", "table")}
    assert [type(made[task][0].model) for task in ("lm", "translate", "classify")] == [RNNLM, RNN, RNNClassifier]  # type: ignore[union-attr]
    assert made["classify"][0].model.head == base("classify").model.head  # type: ignore[union-attr]
    assert made["table"] == (None, "the rows and columns of a table have no order for an RNN to follow")


def test_names_are_unique_and_every_change_is_explained():
    assert len({change.name for change in CHANGES}) == len(CHANGES)
    assert all(change.what and change.why for change in CHANGES)


def test_more_time_makes_no_smaller_base():
    widths = [base_plan("lm", ("a.txt",), (), None, size.seconds).model.width for size in SIZES]  # type: ignore[union-attr]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize(
    ("task", "valid", "target", "message"),
    [
        ("table", (), None, "name the column"),
        ("lm", (), "y", "--target"),
        ("translate", (), None, "--valid"),
        ("table", ("v",), "y", "one file"),
    ],
)
def test_bases_that_are_refused(task: str, valid: tuple[str, ...], target: str | None, message: str):
    with pytest.raises(ConfigError, match=message):
        base_plan(task, ("a.tsv",), valid, target, 10.0)  # type: ignore[arg-type]


def test_losses_have_the_unit_of_their_task():
    units = {task: unit_of(base(task)) for task in ("lm", "translate", "classify", "table")}
    assert units == {
        "lm": "nats per token",
        "translate": "nats per token",
        "classify": "nats per text",
        "table": "nats per cell",
    }
    numbers = base("table")
    numbers = replace(numbers, model=replace(numbers.model, categories=(3, 0)))
    assert unit_of(numbers) == "mean squared error (standardised target)"


def unit_of(plan: Plan) -> str:
    return plan.task.loss_unit(plan.model)


def test_a_task_is_ablated_once_its_recipe_declares_a_base(monkeypatch: pytest.MonkeyPatch):
    assert {"lm", "fill", "translate", "summarise", "classify", "image", "table"} <= set(ablation_bases())
    with pytest.raises(ConfigError, match="--task pretrain tables: has no ablation"):
        base_plan("pretrain tables", ("a",))
    monkeypatch.setattr("regard.tasks.pretrain_tables.recipe.ablation_base", lambda files: base("lm"), raising=False)
    assert base_plan("pretrain tables", ("a",)).training.steps == 100
