"""Packed matrices multiply as the others do, only faster, and leave nothing behind."""

import torch

from regard.models import Transformer
from regard.parts import linear
from regard.parts.linear import Linear, Packable, packing


def test_a_packed_model_answers_the_same(monkeypatch):
    monkeypatch.setattr(linear, "WORTH_PACKING", 1)
    model = Transformer(vocab=50, width=32, layers=2, heads=4, logit_bias=True).build().eval()
    source, target = torch.randint(50, (3, 7)), torch.randint(50, (3, 5))
    with torch.inference_mode():
        plain = model(source, target)
        with packing(model, 15):
            parts = [part for part in model.modules() if isinstance(part, Packable)]
            assert all(part.packed is not None for part in parts)
            packed = model(source, target)
    assert all(part.packed is None for part in parts)
    torch.testing.assert_close(packed, plain, rtol=1e-5, atol=1e-5)
    assert not any("packed" in name for name in model.state_dict())


def test_only_large_matrices_are_packed():
    small, large = Linear(16, 16), Linear(512, 512)
    with packing(torch.nn.Sequential(small, large), 8):
        assert small.packed is None
        assert large.packed is not None


def test_gradients_flow_though_a_matrix_is_packed():
    layer = Linear(512, 512)
    x = torch.randn(4, 512)
    with packing(layer, 4):
        layer(x).sum().backward()
    assert layer.weight.grad is not None
    torch.testing.assert_close(layer.weight.grad, x.sum(0).expand(512, -1))
