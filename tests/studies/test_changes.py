"""Every change makes another plan that can be built, or is left out with a reason."""

from dataclasses import replace

import pytest

from regard.core.errors import ConfigError
from regard.models import BERT, GPT, NPT, RNN, RNNLM, RNNClassifier, Transformer
from regard.studies.ablate.base import SIZES, base_plan, loss_unit
from regard.studies.ablate.changes import CHANGES, applicable


def base(task: str):
    target = "y" if task == "table" else None
    valid = ("v.tsv",) if task == "translate" else ()
    plan = base_plan(task, ("a.tsv",), valid, target, 100.0)  # type: ignore[arg-type]
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
    assert [loss_unit(task, base(task)) for task in ("lm", "translate", "classify")] == [
        "nats per token",
        "nats per token",
        "nats per text",
    ]
    table = base("table")
    assert loss_unit("table", table) == "nats per cell"
    numbers = replace(table, model=replace(table.model, categories=(3, 0)))
    assert loss_unit("table", numbers) == "mean squared error of the standardised target"
