"""Pictures as data: exact where they are whole, means where they are small, and what the codes of positions are."""

import base64
import json
import math
import struct
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some
from torch import Tensor

import regard
from regard.core.errors import ConfigError, UserError
from regard.models import GPT
from regard.parts.positions import ALiBi, Learned, NoPosition, Rotary, Shaw, Sinusoid, T5Bias
from regard.store import METRICS, RunFolder
from regard.tasks.recording import ViewInput
from regard.view.open_run import record
from regard.view.pictures import align, alignment_picture, head_picture, overview_picture, position_pictures
from regard.view.pictures.training import thin, training_picture
from regard.view.pictures.values import downsample, encode_matrix
from tests.view.conftest import Runs

TEXT = "to be, or not to be"


def unpacked(picture: dict[str, Any]) -> Tensor:
    """As a page reads it, by another way than it was written."""
    data = base64.b64decode(picture["values"])
    numbers = struct.unpack(f"<{len(data) // 4}f", data)
    return torch.tensor(numbers).view(picture["rows"], picture["columns"])


def test_a_head_is_what_was_heard_to_the_bit(runs: Runs) -> None:
    recording = record(regard.load(runs["transformer"]), ViewInput(TEXT))
    for look in recording.maps:
        for head in range(2):
            picture = json.loads(json.dumps(head_picture(recording, look.name, head)))
            assert torch.equal(unpacked(picture["weights"]), look.pattern[head])
            assert picture["labels"] == {"queries": list(look.queries), "keys": list(look.keys)}
    part = head_picture(recording, "encoder.0.attend", 1, first=3, last=5)
    assert part["first"] == 3
    assert torch.equal(unpacked(part["weights"]), recording.maps[0].pattern[1, 3:5])


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("encoder.0.atend", 0), "did you mean 'encoder.0.attend'"),
        (("encoder.0.attend", 2), "head 2: encoder.0.attend has 2"),
        (("encoder.0.attend", -1), "head -1"),
        (("encoder.0.attend", 0, -1), "queries -1"),
        (("encoder.0.attend", 0, 9, 3), "queries 9 to 3"),
    ],
)
def test_heads_that_are_not_there_are_named(runs: Runs, asked: tuple[Any, ...], message: str) -> None:
    recording = record(regard.load(runs["transformer"]), ViewInput(TEXT))
    with pytest.raises(ConfigError, match=message):
        head_picture(recording, *asked)


@given(rows=some.integers(1, 40), columns=some.integers(1, 40), most=some.integers(1, 12))
def test_small_maps_are_means_of_patches(rows: int, columns: int, most: int) -> None:
    whole = torch.rand(2, rows, columns)
    small = downsample(whole, most)
    assert small.shape == (2, min(rows, most), min(columns, most))

    def patch(place: int, count: int, size: int) -> range:
        return range(place * size // count, -(-(place + 1) * size // count))

    for row in range(small.shape[1]):
        for column in range(small.shape[2]):
            down, across = patch(row, small.shape[1], rows), patch(column, small.shape[2], columns)
            mean = sum(float(whole[1, r, c]) for r in down for c in across) / (len(down) * len(across))
            assert float(small[1, row, column]) == pytest.approx(mean, abs=1e-5)


def test_an_overview_has_every_head(runs: Runs) -> None:
    recording = record(regard.load(runs["gpt"]), ViewInput("x" * 50))
    maps = overview_picture(recording, max_size=8)["maps"]
    assert [(one["name"], one["queries"], len(one["weights"])) for one in maps] == [
        ("decoder.0.attend", 50, 2), ("decoder.1.attend", 50, 2),
    ]  # fmt: skip
    assert unpacked(maps[0]["weights"][0]).shape == (8, 8)


def test_alignment_is_the_mean_of_the_looks_at_the_source(runs: Runs) -> None:
    recording = record(regard.load(runs["transformer"]), ViewInput(TEXT, "abc"))
    across = [look.pattern for look in recording.maps if look.part == "cross"]
    torch.testing.assert_close(align(recording).weights, torch.stack(across).mean((0, 1)))
    one = align(recording, "decoder.1.cross", 1)
    assert torch.equal(one.weights, across[1][1])
    assert one.target == ("a", "b", "c", "⟨end⟩")
    assert unpacked(alignment_picture(recording)["weights"]).shape == (4, len(TEXT) + 1)
    with pytest.raises(ConfigError, match="does not attend to the source"):
        align(recording, "encoder.0.attend")
    with pytest.raises(ConfigError, match="head 7: there are 2"):
        align(recording, head=7)


def test_source_and_target_in_one_text_align_too(runs: Runs) -> None:
    recording = record(regard.load(runs["decoder-only"]), ViewInput("abcd", "xyz"))
    alignment = align(recording)
    both = torch.stack([look.pattern for look in recording.maps]).mean((0, 1))
    assert alignment.source == ("a", "b", "c", "d", "⟨end⟩")
    assert alignment.target == ("x", "y", "z", "⟨end⟩")
    assert torch.equal(alignment.weights, both[5:, :5])


def test_without_attention_there_is_no_alignment(runs: Runs) -> None:
    with pytest.raises(UserError, match="no alignment: this model has no attention"):
        align(record(regard.load(runs["rnn"]), ViewInput(TEXT)))
    with pytest.raises(UserError, match="reads no source"):
        align(record(regard.load(runs["gpt"]), ViewInput(TEXT)))


def maps_of(position: Any) -> list[Tensor]:
    model = GPT(vocab=8, width=16, heads=2, layers=1, position=position).build().eval()
    return [unpacked(picture["map"]) for picture in position_pictures(model)]


def test_positions_are_what_the_papers_say() -> None:
    [waves] = maps_of(Sinusoid())
    assert waves[3, 0] == pytest.approx(math.sin(3), abs=1e-6)
    assert waves[3, 8] == pytest.approx(math.cos(3), abs=1e-6)
    assert waves[5, 1] == pytest.approx(math.sin(5 / 10000 ** (2 / 16)), abs=1e-6)
    [turns] = maps_of(Rotary())
    assert turns[3, 0] == pytest.approx(math.cos(3), abs=1e-6)
    assert turns[3, 4] == pytest.approx(math.sin(3), abs=1e-6)
    slopes = maps_of(ALiBi())
    assert len(slopes) == 2
    assert slopes[0][9, 5] == pytest.approx(-4 * 2**-4)
    assert slopes[1][9, 5] == pytest.approx(-4 * 2**-8)
    assert maps_of(NoPosition()) == []


def test_learned_positions_are_their_tables() -> None:
    model = GPT(vocab=8, width=16, heads=2, layers=1, position=Learned(20)).build()
    [picture] = position_pictures(model)
    assert torch.equal(unpacked(picture["map"]), model.decoder.position.table.weight)
    model = GPT(vocab=8, width=16, heads=2, layers=1, position=Shaw(reach=5)).build()
    [picture] = position_pictures(model)
    assert torch.equal(unpacked(picture["map"]), model.decoder.position.table)
    model = GPT(vocab=8, width=16, heads=2, layers=1, position=T5Bias()).build()
    pictures = [unpacked(picture["map"]) for picture in position_pictures(model)]
    assert len(pictures) == 2
    assert pictures[1][7, 4] == model.decoder.position.table.weight[3, 1]


def test_training_is_what_was_logged(tmp_path: Path) -> None:
    lines = [
        {"step": 1, "loss": 2.0, "lr_multiplier": 0.5, "speed": 10.0, "seconds": 1.0, "skipped": 0},
        {"step": 2, "loss": None, "lr_multiplier": 1.0, "speed": 12.0, "seconds": 2.0, "skipped": 1},
        {"step": 2, "valid": 1.5, "seconds": 2.5},
        {"step": 2, "sample": "once <b>upon</b>"},
        {"step": 2, "loss": 1.4, "perplexity": 4.0},
    ]
    (tmp_path / METRICS).write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"step": 3, "lo')
    picture = training_picture(tmp_path)
    assert picture["curves"]["loss"] == {"steps": (1,), "seconds": (1.0,), "values": (2.0,)}
    assert picture["curves"]["valid"]["values"] == (1.5,)
    assert picture["curves"]["loss_at_the_end"]["values"] == (1.4,)
    assert set(picture["curves"]) == {"loss", "lr_multiplier", "speed", "valid", "loss_at_the_end", "perplexity"}
    assert picture["samples"] == [{"step": 2, "name": "sample", "text": "once <b>upon</b>"}]
    assert not picture["running"]


def test_a_run_is_running_while_its_folder_is_held(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run").open():
        assert training_picture(tmp_path / "run")["running"]
    assert not training_picture(tmp_path / "run")["running"]
    assert not training_picture(tmp_path / "nothing")["running"]


@given(values=some.lists(some.floats(-1e6, 1e6), min_size=1, max_size=400), most=some.integers(4, 60))
def test_thinning_keeps_ends_and_spikes(values: list[float], most: int) -> None:
    points = [(step, None, value) for step, value in enumerate(values)]
    kept = thin(points, most)
    assert len(kept) <= max(most, 1) + 2
    assert kept[-1] == points[-1]
    assert kept == sorted(set(kept))
    assert min(values) == min(value for *_, value in kept)
    assert max(values) == max(value for *_, value in kept)


def test_numbers_are_little_end_first() -> None:
    assert base64.b64decode(encode_matrix(torch.tensor([[1.0]]))["values"]) == b"\x00\x00\x80\x3f"
