"""Every change makes another plan that can be built, or is left out with a reason."""

from dataclasses import replace

import pytest
from torch import Tensor

from regard.core.errors import ConfigError
from regard.models import BERT, GPT, NPT, RNN, RNNLM, RNNClassifier, Transformer
from regard.parts import Full, MultiHead, listen
from regard.studies.ablate.base import SIZES, base_plan
from regard.studies.ablate.changes import CHANGES, applicable
from regard.studies.distance.costs import HEADS, WIDTH, _measure, attentions, layers_to_connect, measure_costs
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


def test_recurrence_takes_the_place_of_attention_wherever_there_is_an_order():
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


def test_recall_texts_ask_for_the_marked_letter_in_the_middle():
    pairs = recall_pairs(5, 50, "train")
    for text, item in pairs:
        before, after = text.split(">")
        assert len(before) == 5
        assert len(after) == 6
        assert after[0] == item
        assert set(before + after) <= set(LETTERS)
    assert pairs == recall_pairs(5, 50, "train")
    assert not set(pairs) & set(recall_pairs(5, 50, "valid"))


def test_layers_until_every_token_is_connected():
    layers = {kind: layers_to_connect(MultiHead(WIDTH, 4, way), 100) for kind, way in attentions(100).items()}
    assert layers["full"] == layers["Linformer, 16 slots"] == 1
    assert layers["window of 16"] == -(-99 // 15), "each layer reaches fifteen places further"
    assert layers["BigBird, blocks of 16"] == 2


def test_costs_grow_with_the_length_as_the_report_says():
    short, long = ({cost.layer: cost for cost in measure_costs([length])} for length in (64, 256))
    assert (short["RNN"].sequential_steps, long["RNN"].sequential_steps) == (64, 256), "step by step"
    assert long["full"].sequential_steps == 1
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
