"""Every change makes another plan that can be built, or says in words why not."""

from dataclasses import replace

import pytest
from torch import Tensor

from regard.core.errors import ConfigError
from regard.models import BERT, GPT, NPT, RNN, RNNLM, RNNClassifier, Transformer
from regard.parts import Full, MultiHead, listen
from regard.studies.ablate.base import SIZES, base_plan
from regard.studies.ablate.changes import CHANGES, applicable
from regard.studies.distance.costs import HEADS, WIDTH, _measure, attentions, layers_to_meet, measure_costs
from regard.studies.distance.recall import LETTERS, recall_pairs


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


@pytest.mark.parametrize(("task", "fewest"), [("lm", 24), ("translate", 24), ("classify", 22), ("table", 14)])
def test_most_changes_fit_and_the_others_say_why(task: str, fewest: int):
    plan, taken = base(task), {}
    for change in CHANGES:
        changed, why = applicable(plan, change)
        assert (changed is None) == bool(why), change.name
        if changed is not None:
            taken[change.name] = changed
            assert (changed.data, changed.task) == (plan.data, plan.task), "what is measured stays the same"
    assert len(taken) >= fewest, sorted(taken)
    assert len({str(changed) for changed in taken.values()}) == len(taken), "no two changes are the same"


def test_recurrence_takes_the_place_of_attention_wherever_there_is_an_order():
    rnn = next(change for change in CHANGES if change.name == "rnn")
    made = {task: applicable(base(task), rnn) for task in ("lm", "translate", "classify", "table")}
    assert [type(made[task][0].model) for task in ("lm", "translate", "classify")] == [RNNLM, RNN, RNNClassifier]  # type: ignore[union-attr]
    assert made["classify"][0].model.head == base("classify").model.head  # type: ignore[union-attr]
    assert made["table"] == (None, "neither rows nor columns of a table stand in an order that an RNN could follow")


def test_names_are_told_apart_and_each_says_what_and_why():
    assert len({change.name for change in CHANGES}) == len(CHANGES)
    assert all(change.what and change.why for change in CHANGES)


def test_more_time_makes_no_smaller_base():
    widths = [base_plan("lm", ("a.txt",), (), None, size.seconds).model.width for size in SIZES]  # type: ignore[union-attr]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize(
    ("task", "valid", "target", "told"),
    [
        ("table", (), None, "name the column"),
        ("lm", (), "y", "--target"),
        ("translate", (), None, "--valid"),
        ("table", ("v",), "y", "one file"),
    ],
)
def test_bases_that_cannot_be_meant(task: str, valid: tuple[str, ...], target: str | None, told: str):
    with pytest.raises(ConfigError, match=told):
        base_plan(task, ("a.tsv",), valid, target, 10.0)  # type: ignore[arg-type]


def test_recall_asks_for_the_letter_behind_the_mark_in_the_middle():
    pairs = recall_pairs(5, 50, "train")
    for text, item in pairs:
        before, after = text.split(">")
        assert len(before) == 5
        assert len(after) == 6
        assert after[0] == item
        assert set(before + after) <= set(LETTERS)
    assert pairs == recall_pairs(5, 50, "train")
    assert not set(pairs) & set(recall_pairs(5, 50, "valid"))


def test_layers_until_everything_has_met():
    met = {kind: layers_to_meet(MultiHead(WIDTH, 4, way), 100) for kind, way in attentions(100).items()}
    assert met["full"] == met["Linformer, 16 slots"] == 1
    assert met["window of 16"] == -(-99 // 15), "each layer reaches fifteen places further"
    assert met["BigBird, blocks of 16"] == 2


def test_costs_grow_with_the_length_as_the_report_says():
    short, long = ({cost.kind: cost for cost in measure_costs([length])} for length in (64, 256))
    assert (short["RNN"].waiting, long["RNN"].waiting) == (64, 256), "step by step"
    assert long["full"].waiting == 1
    for kind in ("RNN", "full", "window of 16"):
        assert 3 < long[kind].kibibytes / short[kind].kibibytes < 5, "four times the text, four times the memory"
    assert all(cost.milliseconds > 0 for cost in [*short.values(), *long.values()])


def test_full_attention_that_keeps_its_pattern_takes_memory_by_the_square_of_the_length():
    heads = MultiHead(WIDTH, HEADS, Full())

    def watched(x: Tensor) -> Tensor:
        with listen(heads):
            return heads(x)

    (_, short), (_, long) = (_measure(watched, length) for length in (128, 512))
    pattern = 4 * HEADS * 512**2 / 1024  # kibibytes
    assert pattern < long < 4 * pattern
    assert 8 < long / short < 16
