"""Packed matrices multiply as the others do, only faster, and leave nothing behind."""

import pytest
import torch
import torch.nn.functional as F

from regard.core.errors import ConfigError
from regard.models import Transformer
from regard.parts import linear, packed
from regard.parts.linear import Linear, Packable, pack, packing
from regard.parts.packed import Int8, fast_bfloat16, multiply


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


@pytest.mark.parametrize(("precision", "error"), [("bfloat16", 0.006), ("int8", 0.015)])
def test_fewer_bytes_give_nearly_the_same_product(precision: str, error: float):
    torch.manual_seed(0)
    layer = Linear(512, 384)
    x = torch.randn(1, 1, 512)
    with torch.inference_mode():
        exact = layer(x)
        pack(layer, precision)
        product = layer(x)
        assert product.dtype == torch.float32
        assert 0 < (product - exact).norm() < error * exact.norm()
        many = torch.randn(3, 40, 512)  # as of a prompt
        exact = F.linear(many, layer.weight, layer.bias)
        assert (layer(many) - exact).norm() < 0.006 * exact.norm()
        if not fast_bfloat16():
            torch.testing.assert_close(layer(many), exact)


def test_a_matrix_that_is_packed_stays_so():
    layer = Linear(512, 512)
    pack(layer, "int8")
    chosen = layer.packed
    with packing(layer, 8):
        assert layer.packed is chosen
    assert layer.packed is chosen


def test_scales_of_int8_are_those_that_the_weights_were_rounded_by():
    packed = Int8(torch.tensor([[1.0, -0.5, 0.25], [0.0, 0.0, 0.0]]))
    restored = packed.matrix.float() * packed.scales.float()[:, None]
    torch.testing.assert_close(restored, torch.tensor([[1.0, -0.5, 0.25], [0.0, 0.0, 0.0]]), atol=0.006, rtol=0)


def test_an_unknown_precision_is_one_line():
    with pytest.raises(ConfigError, match="did you mean 'int8'"):
        pack(Linear(512, 512), "in8")


@pytest.mark.parametrize("slow", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_both_libraries_give_the_same_product(slow: bool, bias: bool, monkeypatch):
    """oneDNN multiplies where MKL is slow; gradients are torch's own."""
    monkeypatch.setattr(packed, "mkl_is_slow", lambda: slow)
    monkeypatch.setattr(packed, "WORTH_ONEDNN", 1)
    layer, x = Linear(64, 48, bias=bias), torch.randn(5, 7, 64)
    with torch.no_grad():
        torch.testing.assert_close(multiply(x, layer.weight, layer.bias), F.linear(x, layer.weight, layer.bias))
        with torch.autocast("cpu", torch.bfloat16):
            assert layer(x).dtype == torch.bfloat16
    layer(x).sum().backward()
    assert layer.weight.grad is not None
