"""The cache: keys and values of what has been read or written, so that each new token is computed once."""

from torch import Tensor


class KeyValues:
    """Keys and values of one attention, in memory that is laid out ahead and doubles when it is full."""

    def __init__(self, capacity: int = 64):
        self.capacity, self.length = capacity, 0
        self._keys: Tensor | None = None
        self._values: Tensor | None = None

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Add tokens at the end; gives all that is stored."""
        end = self.length + keys.shape[2]
        self._keys = self._make_room(self._keys, keys, end)
        self._values = self._make_room(self._values, values, end)
        self._keys[:, :, self.length : end] = keys
        self._values[:, :, self.length : end] = values
        self.length = end
        return self.stored()

    def stored(self) -> tuple[Tensor, Tensor]:
        assert self._keys is not None, "nothing has been stored yet"
        assert self._values is not None
        return self._keys[:, :, : self.length], self._values[:, :, : self.length]

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order: how beams fork, and finished texts leave."""
        if self._keys is not None and self._values is not None:
            self._keys, self._values = self._keys.index_select(0, rows), self._values.index_select(0, rows)

    def _make_room(self, buffer: Tensor | None, new: Tensor, end: int) -> Tensor:
        if buffer is not None and end <= buffer.shape[2]:
            return buffer
        while self.capacity < end:
            self.capacity *= 2
        batch, heads, _, size = new.shape
        larger = new.new_empty(batch, heads, self.capacity, size)
        if buffer is not None:
            larger[:, :, : self.length] = buffer[:, :, : self.length]
        return larger


class Cache:
    """One pair of caches a layer: what the text itself holds, and what it reads from its memory (cross-attention)."""

    def __init__(self, layers: int, capacity: int = 64):
        self.own = [KeyValues(capacity) for _ in range(layers)]
        self.memory = [KeyValues(1) for _ in range(layers)]  # filled once, at the first step
        self.last: Tensor | None = None  # the newest token of each row, for models that look at pairs

    @property
    def length(self) -> int:
        """Tokens read so far."""
        return self.own[0].length if self.own else 0

    def select(self, rows: Tensor) -> "Cache":
        """These rows of the batch, in this order; like every state of a decoder it gives what to go on with."""
        for part in (*self.own, *self.memory):
            part.select(rows)
        self.last = None if self.last is None else self.last[rows]
        return self
