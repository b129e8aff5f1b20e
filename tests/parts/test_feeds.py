"""Feed-forwards by formula, and experts against the mixture that a loop over tokens makes."""

import math

import pytest
import torch
from torch import Tensor

from regard.core.errors import ConfigError
from regard.core.modules import after_step
from regard.parts import GELU, Experts, Feed, GeGLU, NoFeed, ReLU, SiLU, SquaredReLU, SwiGLU, TanhGELU
from regard.parts.experts import MixtureOfExperts
from tests.helpers import WIDTH, close, gradients, over


def gelu(x: Tensor) -> Tensor:
    return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def tanh_gelu(x: Tensor) -> Tensor:
    return x * 0.5 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def silu(x: Tensor) -> Tensor:
    return x / (1 + torch.exp(-x))


PLAIN = {
    ReLU: lambda x: x.clamp(min=0),
    GELU: gelu,
    TanhGELU: tanh_gelu,
    SiLU: silu,
    SquaredReLU: lambda x: x.clamp(min=0) ** 2,
}
GATED = {SwiGLU: silu, GeGLU: tanh_gelu}


@over(Feed, "config")
def test_each_token_is_thought_about_by_itself(config):
    feed, x = config.build(WIDTH).eval(), torch.randn(3, 5, WIDTH)
    together = feed(x)
    assert together.shape == x.shape
    for row in range(3):
        for token in range(5):
            close(feed(x[row, token][None])[0], together[row, token])


@over(Feed, "config")
@pytest.mark.parametrize("bias", [False, True])
def test_gradients_reach_every_parameter(config, bias):
    feed, x = config.build(WIDTH, bias), torch.randn(40, WIDTH, requires_grad=True)
    names = [name for name, _ in feed.named_parameters()]
    assert bias or not any(name.endswith("bias") for name in names)
    if names:
        for name, gradient in zip(names, gradients(feed(x), list(feed.parameters())), strict=True):
            assert gradient.any(), name


@pytest.mark.parametrize("kind", PLAIN)
def test_plain_feed_is_its_formula(kind):
    feed, x = kind(hidden=7).build(WIDTH), torch.randn(4, WIDTH)
    up, down = feed.up, feed.down
    assert up.weight.shape == (7, WIDTH)
    close(feed(x), PLAIN[kind](x @ up.weight.T + up.bias) @ down.weight.T + down.bias)


@pytest.mark.parametrize("kind", GATED)
def test_gated_feed_is_its_formula(kind):
    feed, x = kind(hidden=7).build(WIDTH, bias=False), torch.randn(4, WIDTH)
    gate, up, down = feed.gate.weight, feed.up.weight, feed.down.weight
    close(feed(x), (GATED[kind](x @ gate.T) * (x @ up.T)) @ down.T)


def test_no_feed_adds_nothing():
    assert not NoFeed().build(WIDTH)(torch.randn(3, 5, WIDTH)).any()


def test_gated_feeds_cost_what_plain_ones_do():
    def parameters(config) -> int:
        return sum(p.numel() for p in config.build(96, bias=False).parameters())

    assert parameters(SwiGLU()) == pytest.approx(parameters(ReLU()), rel=0.05)


def dense_mixture(experts: MixtureOfExperts, tokens: Tensor) -> tuple[Tensor, list[list[int]]]:
    """Every token by itself: the experts it leans to most, mixed by their affinity."""
    answers, visits = [], []
    for token in tokens:
        affinity = (experts.router.weight @ token).softmax(-1)
        leaning = (affinity + experts.router_bias).tolist()
        chosen = sorted(range(len(leaning)), key=lambda number: -leaning[number])[: experts.active]
        weights = affinity[chosen] / (affinity[chosen].sum() if experts.active > 1 else 1)
        output = [experts.experts[number](token[None])[0] for number in chosen]
        answers.append(sum(weight * answer for weight, answer in zip(weights, output, strict=True)))
        visits.append(chosen)
    return torch.stack(answers), visits


@pytest.mark.parametrize("active", [1, 2, 5])
def test_experts_are_the_mixture_of_a_loop_and_lose_no_token(active):
    experts, tokens = Experts(count=5, active=active).build(WIDTH).eval(), torch.randn(50, WIDTH)
    experts.router_bias.normal_(std=0.2)  # balance must steer the choice and not the mixture
    expected, _ = dense_mixture(experts, tokens)
    close(experts(tokens.view(5, 10, WIDTH)), expected.view(5, 10, WIDTH))


def test_a_choice_among_experts_that_nobody_wants_is_still_a_mixture():
    """Balance may choose experts whose affinity is zero in float32: their shares must sum to one all the same."""
    experts = Experts(count=3, active=2).build(WIDTH).eval()
    torch.nn.init.zeros_(experts.router.weight)
    experts.router.weight.data[2] = 200.0
    experts.router_bias[:2] = 5.0
    token = torch.ones(1, WIDTH)
    close(experts(token), (experts.experts[0](token) + experts.experts[1](token)) / 2)


@pytest.mark.parametrize("active", [1, 2, 3])
def test_every_token_visits_exactly_its_active_experts(active):
    experts, seen = Experts(count=6, active=active).build(WIDTH), []
    for expert in experts.experts:
        expert.register_forward_hook(lambda module, given, answer: seen.append(given[0]))
    tokens = torch.randn(64, WIDTH)
    experts(tokens)
    visited = torch.cat(seen)
    assert len(visited) == active * 64
    for token in tokens:
        assert (visited == token).all(-1).sum() == active


@pytest.mark.parametrize("active", [1, 2])
def test_the_router_learns(active):
    experts = Experts(count=4, active=active).build(WIDTH)
    experts(torch.randn(30, WIDTH)).square().sum().backward()
    assert experts.router.weight.grad.any(-1).all()  # a direction for every expert


def loads(experts: MixtureOfExperts, tokens: Tensor) -> Tensor:
    chosen = [number for visits in dense_mixture(experts, tokens)[1] for number in visits]
    return torch.bincount(torch.tensor(chosen), minlength=len(experts.experts)).float()


@pytest.mark.parametrize("active", [1, 2])
def test_training_evens_out_the_load(active):
    experts, tokens = Experts(count=4, active=active, bias_rate=0.004).build(WIDTH), torch.randn(100, WIDTH)
    tokens += 2 * experts.router.weight[0] / experts.router.weight[0].norm()  # everybody's favourite
    before = loads(experts, tokens)
    for _ in range(300):
        experts(tokens)
        after_step(experts)
    after = loads(experts, tokens)
    assert before.std() > 4 * after.std()
    assert after.sum() == before.sum() == active * 100


def test_only_steps_of_training_move_the_router_bias():
    experts = Experts().build(WIDTH).eval()
    experts(torch.randn(9, WIDTH))
    after_step(experts)
    assert not experts.router_bias.any()
    experts.train()(torch.randn(9, WIDTH))
    assert not experts.router_bias.any()
    after_step(experts)
    assert experts.router_bias.any()
    assert "router_bias" in experts.state_dict()  # a resumed run keeps its balance
    assert not experts.visits.any()
    assert "visits" not in experts.state_dict()


@pytest.mark.parametrize(("count", "active"), [(4, 0), (4, 5), (0, 1)])
def test_experts_that_cannot_be_chosen_are_refused(count, active):
    with pytest.raises(ConfigError, match=f"active {active} .* count {count}"):
        Experts(count=count, active=active)
