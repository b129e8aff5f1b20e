"""Multi-head attention: several lookups side by side, each with projections of its own (Vaswani et al., 2017)."""

from collections.abc import Callable

from torch import Tensor, nn

from regard.core.errors import ConfigError
from regard.core.shapes import Memory, Stream
from regard.parts.attention import Attention, Bias, Full
from regard.parts.cache import KVCache
from regard.parts.linear import Linear
from regard.parts.masks import Mask
from regard.parts.norms import AcrossHeads, Norm
from regard.parts.positions import PositionEncoding, Positions
from regard.parts.taps import Tap


def width_per_head(width: int, heads: int) -> int:
    if width % heads:
        raise ConfigError(f"width {width} is not divisible by heads {heads}")
    return width // heads


class MultiHead(nn.Module):
    """Queries come from `x`; keys and values from `x` too (self-attention) or from a `memory` (cross-attention).

    Fewer `kv_heads` than heads share keys and values in groups (Ainslie et al., 2023). `norm` is put on queries and
    keys, which keeps scores in bounds at high learning rates: inside each head, or over all of them (`AcrossHeads`).
    """

    __call__: Callable[..., Tensor]

    def __init__(
        self,
        width: int,
        heads: int,
        attention: Attention = Full(),
        *,
        kv_heads: int | None = None,
        head_size: int | None = None,
        norm: Norm | AcrossHeads | None = None,
        bias: bool = True,
        out_bias: bool | None = None,
    ):
        super().__init__()
        self.head_size = head_size or width_per_head(width, heads)
        self.groups = heads // (kv_heads or heads)
        if self.groups * (kv_heads or heads) != heads:
            raise ConfigError(f"heads {heads} is not divisible by kv_heads {kv_heads}")
        self.query = Linear(width, heads * self.head_size, bias=bias)
        self.key = Linear(width, (kv_heads or heads) * self.head_size, bias=bias)
        self.value = Linear(width, (kv_heads or heads) * self.head_size, bias=bias)
        self.out = Linear(heads * self.head_size, width, bias=bias if out_bias is None else out_bias)
        self.query_norm, self.key_norm = (self._norm(norm, each) for each in (self.query, self.key))
        self.norms_all_heads = isinstance(norm, AcrossHeads)
        self.attend = attention.build(heads, self.head_size)
        self.pattern = Tap()

    def _norm(self, norm: Norm | AcrossHeads | None, projection: Linear) -> nn.Module:
        if isinstance(norm, AcrossHeads):
            return norm.norm.build(projection.out_features)
        return nn.Identity() if norm is None else norm.build(self.head_size)

    def forward(
        self,
        x: Stream,
        memory: Memory | None = None,
        mask: Mask | None = None,
        position: PositionEncoding | None = None,
        positions: Positions | None = None,
        cache: KVCache | None = None,
        bias: Bias | None = None,
    ) -> Stream:
        """A `bias` takes the place of the position encoding's own."""
        q = self._split(self.query(x), self.query_norm)
        if position is not None and positions is not None:
            q = position.turn(q, positions)
            bias = position.bias(positions) if bias is None else bias
        if memory is not None and cache is not None and cache.length:
            k, v = cache.stored()
        else:
            k, v = self.keys_and_values(x if memory is None else memory, position, positions)
            if cache is not None:
                k, v = cache.append(k, v)
        k, v = self._share(k), self._share(v)
        beams = q.shape[0] // k.shape[0]  # rows of x that share a row of memory
        q = _side_by_side(q, beams)
        if self.pattern.watched:
            output, pattern = self.attend.watch(q, k, v, mask, bias)
            self.pattern(_apart(pattern, beams))
        else:
            output = self.attend(q, k, v, mask, bias)
        output = _apart(output, beams)
        return self.out(self.join(output))

    def keys_and_values(
        self, source: Tensor, position: PositionEncoding | None = None, positions: Positions | None = None
    ) -> tuple[Tensor, Tensor]:
        """What queries look up in `source`, before heads of a group share it."""
        k = self._split(self.key(source), self.key_norm)
        if position is not None and positions is not None:
            k = position.turn(k, positions)
        return k, self._split(self.value(source))

    def _split(self, x: Tensor, norm: nn.Module | None = None) -> Tensor:
        if norm is not None and self.norms_all_heads:
            x, norm = norm(x), None
        parts = x.unflatten(-1, (-1, self.head_size))
        return self.heads_first(parts if norm is None else norm(parts))

    def _share(self, x: Tensor) -> Tensor:
        return x if self.groups == 1 else x.repeat_interleave(self.groups, 1)

    def heads_first(self, parts: Tensor) -> Tensor:
        return parts.transpose(1, 2)

    def join(self, output: Tensor) -> Tensor:
        """What the heads found, side by side again."""
        return output.transpose(1, 2).flatten(2)


def _side_by_side(q: Tensor, beams: int) -> Tensor:
    """Rows that share a memory as more queries of one row."""
    return q if beams == 1 else q.unflatten(0, (-1, beams)).transpose(1, 2).flatten(2, 3)


def _apart(output: Tensor, beams: int) -> Tensor:
    return output if beams == 1 else output.unflatten(2, (beams, -1)).transpose(1, 2).flatten(0, 1)
