"""The distance study: its texts, its costs, its report."""

from pathlib import Path

from torch import Tensor

from regard.data.text.pair_files import PairFiles
from regard.parts import Full, MultiHead, listen
from regard.studies.distance.costs import HEADS, WIDTH, _measure, attentions, layers_to_connect, measure_costs
from regard.studies.distance.recall import LETTERS, Recall, _plan, recall_pairs
from tests.command import regard


def test_every_model_is_trained_at_every_distance(here: Path):
    words = ["--out", "s", "--distances", 1, 2, "--lengths", 32, "--steps", 2, "--seeds", 1]
    assert regard("study", "distance", *words) == 0
    report = (here / "s" / "report.md").read_text()
    assert "| transformer |" in report
    assert "| RNN | 32 |" in report


def test_the_number_of_texts_follows_from_the_steps(tmp_path: Path):
    """A study that was stopped before its first run may be asked for other steps in the same folder."""
    for steps in (2, 3):
        data = _plan(Recall(steps=steps), tmp_path, "rnn", 4, 0).data
        assert isinstance(data, PairFiles)
        assert len(Path(data.train[0]).read_text().splitlines()) == 32 * steps


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


def test_stored_patterns_take_memory_by_the_square_of_the_length():
    heads = MultiHead(WIDTH, HEADS, Full())

    def watched(x: Tensor) -> Tensor:
        with listen(heads):
            return heads(x)

    (_, short), (_, long) = (_measure(watched, length) for length in (128, 512))
    pattern = 4 * HEADS * 512**2 / 1024  # kibibytes
    assert pattern < long < 4 * pattern
    assert 8 < long / short < 16
