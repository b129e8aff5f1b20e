"""Attention by distance: against brute force, and as the kernel regression that it is."""

import torch

from regard.parts.attention import Distance
from regard.parts.masks import MaskTensor


def test_weights_fall_with_the_euclidean_distance():
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 3, 4, 5), torch.randn(2, 3, 6, 5), torch.randn(2, 3, 6, 5)
    attend = Distance().build(3, 5)
    with torch.no_grad():
        attend.log_scale.copy_(torch.tensor([0.0, 0.5, -1.0])[:, None, None])
    attended, pattern = attend.watch(q, k, v)
    for head, scale in enumerate(attend.log_scale.exp().flatten()):
        distances = torch.stack([(q[:, head, i, None] - k[:, head]).norm(dim=-1) for i in range(4)], 1)
        torch.testing.assert_close(pattern[:, head], (-scale * distances).softmax(-1))
    torch.testing.assert_close(attended, pattern @ v)
    torch.testing.assert_close(attend(q, k, v), attended)


def test_gradients_are_finite_where_a_query_equals_a_key():
    x = torch.randn(1, 1, 4, 8, requires_grad=True)
    attend = Distance().build(1, 8)
    attend(x, x, x.detach()).sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()


def test_hidden_keys_have_no_weight():
    x = torch.randn(1, 1, 4, 8)
    others = ~torch.eye(4, dtype=torch.bool)[None]
    _, pattern = Distance().build(1, 8).watch(x, x, x, MaskTensor(others))
    assert (pattern.diagonal(dim1=-2, dim2=-1) == 0).all()
    torch.testing.assert_close(pattern.sum(-1), torch.ones(1, 1, 4))
