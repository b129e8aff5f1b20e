"""Operations and parameters are those that others count."""

from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from regard.core.errors import ConfigError
from regard.models import GPT
from regard.parts import BigramEmbedding, EmbeddingSkip, Experts, Learned, RMSNorm, SwiGLU, Window, listen
from regard.studies.scale.flops import count_parameters, forward_flops, training_flops

SMALL = GPT(vocab=11, width=16, layers=2, heads=2)


@pytest.mark.parametrize(
    "config",
    [
        SMALL,
        replace(SMALL, feed=SwiGLU(), kv_heads=1, tied=False),
        replace(
            SMALL,
            head_size=4,
            norm=RMSNorm(),
            position=Learned(32),
            embedding_skip=EmbeddingSkip(),
            bigram=BigramEmbedding(),
        ),
    ],
    ids=["plain", "gated, shared keys", "narrow heads"],
)
def test_flops_agree_with_torch(config: GPT):
    model, length = config.build(), 12
    with listen(model), FlopCounterMode(display=False) as counted:  # it knows no fused attention of processors
        model(torch.zeros(3, length, dtype=torch.long)).sum()
    assert 3 * length * forward_flops(config, length) == counted.get_total_flops()


def test_the_backward_pass_costs_two_forward_passes():
    model, length = SMALL.build(), 12
    with listen(model), FlopCounterMode(display=False) as counted:
        model(torch.zeros(3, length, dtype=torch.long)).sum().backward()
    assert training_flops(SMALL, length, 3 * length) == counted.get_total_flops()


def test_only_active_experts_count():
    dense, mixed = replace(SMALL, feed=SwiGLU()), replace(SMALL, feed=Experts(count=4, active=1, expert=SwiGLU()))
    router = 2 * 16 * 4 * SMALL.layers
    assert forward_flops(mixed, 8) - forward_flops(dense, 8) == router


def test_embedding_and_other_parameters_add_up():
    config = replace(SMALL, position=Learned(32), bigram=BigramEmbedding(), tied=False)
    count = count_parameters(config)
    assert count.total == sum(p.numel() for p in config.build().parameters())
    assert count.embedding == 11 * 16 * 2 + 32 * 16 + 12 * 11 * 16
    assert count_parameters(replace(config, vocab=99)).other == count.rest, "words do not change what computes"


def test_other_attention_is_refused():
    with pytest.raises(ConfigError, match="counted for Full attention, not for Window"):
        forward_flops(replace(SMALL, attention=Window()), 8)
