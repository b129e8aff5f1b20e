"""Operations and parameters are those that others count."""

from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from regard.core.errors import ConfigError
from regard.models import GPT
from regard.parts import Experts, Learned, RMSNorm, SwiGLU, Window, listen
from regard.studies.scale.flops import count_parameters, forward_flops, training_flops

SMALL = GPT(vocab=11, width=16, layers=2, heads=2)


@pytest.mark.parametrize(
    "config",
    [
        SMALL,
        replace(SMALL, feed=SwiGLU(), kv_heads=1, tied=False),
        replace(SMALL, head_size=4, norm=RMSNorm(), position=Learned(32), recall=True, pairs=True),
    ],
    ids=["plain", "gated, shared keys", "narrow heads"],
)
def test_operations_are_those_of_torchs_own_counter(config: GPT):
    model, length = config.build(), 12
    with listen(model), FlopCounterMode(display=False) as counted:  # it knows no fused attention of processors
        model(torch.zeros(3, length, dtype=torch.long)).sum()
    assert 3 * length * forward_flops(config, length) == counted.get_total_flops()


def test_the_way_back_costs_twice_the_way_forward():
    model, length = SMALL.build(), 12
    with listen(model), FlopCounterMode(display=False) as counted:
        model(torch.zeros(3, length, dtype=torch.long)).sum().backward()
    assert training_flops(SMALL, length, 3 * length) == counted.get_total_flops()


def test_of_experts_only_the_visited_count():
    dense, mixed = replace(SMALL, feed=SwiGLU()), replace(SMALL, feed=Experts(count=4, active=1, expert=SwiGLU()))
    router = 2 * 16 * 4 * SMALL.layers
    assert forward_flops(mixed, 8) - forward_flops(dense, 8) == router


def test_parameters_are_counted_apart_and_together_are_all():
    config = replace(SMALL, position=Learned(32), pairs=True, tied=False)
    count = count_parameters(config)
    assert count.total == sum(p.numel() for p in config.build().parameters())
    assert count.embedding == 11 * 16 * 2 + 32 * 16 + 12 * 11 * 16
    assert count_parameters(replace(config, vocab=99)).rest == count.rest, "words do not change what computes"


def test_other_attention_is_not_miscounted():
    with pytest.raises(ConfigError, match="counted for Full attention, not for Window"):
        forward_flops(replace(SMALL, attention=Window()), 8)
