"""Schedules, optimisers, averaging, precision and settings, each by itself."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from regard.core.errors import ConfigError
from regard.models import GPT, RNN
from regard.parts import Experts
from regard.train import WSD, AdamW, Constant, Cosine, InverseRoot, Muon, Training
from regard.train.ema import EMA
from regard.train.optimisers import matrices_of_blocks
from regard.train.precision import choose

SCHEDULES = [Cosine(warmup=10), InverseRoot(warmup=10), WSD(warmup=10, stable=0.5), Constant(warmup=10)]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: type(s).__name__)
def test_the_rate_rises_to_its_peak_and_never_rises_again(schedule):  # type: ignore[no-untyped-def]
    multipliers = [schedule.multiplier(step, step / 100) for step in range(101)]
    assert multipliers[:9] == sorted(multipliers[:9])
    assert multipliers[9:] == sorted(multipliers[9:], reverse=True)
    assert max(multipliers) == pytest.approx(1, abs=0.03)
    assert min(multipliers) >= 0


def test_schedules_end_where_they_say():
    assert Cosine(warmup=0).multiplier(99, 1.0) == pytest.approx(0, abs=1e-12)
    assert Cosine(warmup=0, floor=0.1).multiplier(99, 1.0) == pytest.approx(0.1)
    assert WSD(stable=0.4).multiplier(99, 1.0) == 0
    assert WSD(stable=0.4).multiplier(50, 0.7) == pytest.approx(0.5)
    assert InverseRoot(warmup=100).multiplier(399, 0.9) == pytest.approx(0.5)


@given(st.integers(1, 500), st.floats(0.1, 20), st.integers(1, 50))
def test_the_first_budget_to_run_out_ends_the_run(steps: int, epochs: float, per_epoch: int):
    training = Training(steps=steps, epochs=epochs)
    total = training.total_steps(per_epoch)
    assert total == min(steps, max(1, round(epochs * per_epoch)))
    assert training.done(total, 0, per_epoch) == 1
    assert training.done(total - 1, 0, per_epoch) < 1
    assert Training(minutes=1, steps=10).done(1, 60, per_epoch) == 1


@pytest.mark.parametrize(
    ("settings", "named"),
    [({}, "steps, epochs or minutes"), ({"steps": 0}, "steps"), ({"steps": 1, "batch_size": 0}, "batch_size"),
     ({"minutes": float("nan")}, "minutes"), ({"steps": 1, "ema": 1.0}, "ema")],
)  # fmt: skip
def test_settings_that_cannot_be_meant_are_named(settings: dict[str, float], named: str):
    with pytest.raises(ConfigError, match=named):
        Training(**settings)


def step_on(model: nn.Module, optimisers, steps: int) -> None:  # type: ignore[no-untyped-def]
    tokens = torch.arange(12).view(2, 6)
    for _ in range(steps):
        nn.functional.cross_entropy(model(tokens)[:, :-1].flatten(0, 1), tokens[:, 1:].flatten()).backward()
        optimisers.step(1.0)
        optimisers.clear()


@pytest.mark.parametrize("optimiser", [AdamW(), Muon()], ids=lambda o: type(o).__name__)
def test_an_optimiser_goes_on_from_its_saved_state(optimiser):  # type: ignore[no-untyped-def]
    torch.manual_seed(0)
    model = GPT(vocab=12, width=16, layers=1, heads=2, dropout=0.0).build()
    optimisers = optimiser.build(model)
    step_on(model, optimisers, 3)
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    state = {name: value.clone() for name, value in optimisers.state().items()}
    step_on(model, optimisers, 2)

    other = GPT(vocab=12, width=16, layers=1, heads=2, dropout=0.0).build()
    other.load_state_dict(weights)
    resumed = optimiser.build(other)
    resumed.load_state(state)
    step_on(other, resumed, 2)
    for name, value in model.state_dict().items():
        assert torch.equal(value, other.state_dict()[name]), name


def test_muon_takes_the_matrices_inside_blocks_and_nothing_else():
    model = GPT(vocab=12, width=16, layers=2, heads=2, feed=Experts(count=3), tied=False).build()
    chosen = {id(p) for p in matrices_of_blocks(model)}
    names = {name for name, p in model.named_parameters() if id(p) in chosen}
    assert all(name.startswith(("decoder.0", "decoder.1")) and name.endswith("weight") for name in names)
    assert not any("router" in name or "norm" in name for name in names)
    assert len(names) == 2 * (4 + 3 * 3)
    assert matrices_of_blocks(RNN(vocab=12, width=16).build()) == []


def test_each_parameter_belongs_to_exactly_one_optimiser():
    model = GPT(vocab=12, width=16, layers=2, heads=2).build()
    owned = [id(p) for part, _ in Muon().build(model).parts for group in part.param_groups for p in group["params"]]
    assert sorted(owned) == sorted(id(p) for p in model.parameters())


def test_rates_are_those_that_the_optimisers_step_with():
    model = GPT(vocab=8, width=16, layers=1, heads=2).build()
    optimisers = Muon(lr=0.02, adamw=AdamW(lr=0.004)).build(model)
    optimisers.step(0.5)
    output = optimisers.learning_rates(0.5)
    assert output == {"lr": 0.01, "lr_adamw": 0.002}
    used = [group["lr"] for part, _ in optimisers.parts for group in part.param_groups]
    assert used[0] == output["lr"]
    assert set(used[1:]) == {output["lr_adamw"]}
    assert AdamW(lr=0.5).build(model).learning_rates(0.5) == {"lr": 0.25}


def test_the_moving_average_follows_its_formula_and_gives_the_weights_back():
    model = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(model.weight)
    ema, mean = EMA(model, decay=0.5), 0.0
    for step, value in enumerate([1.0, 2.0, 4.0, -3.0, 8.0], 1):
        nn.init.constant_(model.weight, value)
        ema.update(model)
        keep = min(0.5, (1 + step) / (10 + step))
        mean = keep * mean + (1 - keep) * value
    with ema.applied_to(model):
        assert model.weight.item() == pytest.approx(mean)
    assert model.weight.item() == 8.0


def test_only_long_runs_of_one_shape_are_compiled(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("regard.train.precision.has_fast_bfloat16", lambda device: True)
    long, short = Training(minutes=30), Training(steps=10)
    assert choose(long, 10**9, None, fixed_shape=True, device="cpu").compiled
    assert choose(long, 10**9, None, fixed_shape=True, device="cpu").bfloat16
    assert not choose(long, 10**9, None, fixed_shape=False, device="cpu").compiled
    assert not choose(short, 10**9, 10, fixed_shape=True, device="cpu").bfloat16
    assert choose(Training(steps=10, precision="bfloat16"), 10**9, 10, fixed_shape=False, device="cpu").bfloat16
    assert choose(Training(steps=10, compile="always"), 10**9, 10, fixed_shape=False, device="cpu").compiled


@pytest.mark.parametrize(("fixed_shape", "dynamic"), [(True, None), (False, True)])
def test_blocks_of_changing_shapes_are_compiled_once_for_all(
    fixed_shape: bool, dynamic: bool | None, monkeypatch: pytest.MonkeyPatch
):
    asked: list[object] = []
    monkeypatch.setattr(nn.Module, "compile", lambda module, **settings: asked.append(settings["dynamic"]))
    training = Training(steps=10, compile="always")
    model = GPT(vocab=20, width=8, layers=3, heads=2).build()
    choose(training, 1, 10, fixed_shape=fixed_shape, device="cpu").prepare(model)
    assert asked == [dynamic] * 3


def test_without_fast_bfloat16_everything_is_float32(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("regard.train.precision.has_fast_bfloat16", lambda device: False)
    assert not choose(Training(minutes=30), 10**9, None, fixed_shape=True, device="cpu").bfloat16
