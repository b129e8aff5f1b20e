"""The cache: keys and values of what has been read or written, so that each new token is computed once."""

from collections.abc import Sequence
from copy import copy

import torch
from torch import Tensor


class KVCache:
    """Keys and values of one attention, in memory that is laid out ahead and doubles when it is full."""

    def __init__(self, capacity: int = 64):
        self.capacity, self.length = max(1, capacity), 0  # doubling must lead somewhere
        self._keys: KVBuffer | None = None
        self._values: KVBuffer | None = None

    @classmethod
    def stack(cls, caches: Sequence["KVCache"]) -> "KVCache":
        """Caches of the same length as one, whose rows are those of the first, then those of the second, …"""
        stacked = cls(caches[0].length)
        keys, values = zip(*(cache.stored() for cache in caches), strict=True)
        stacked.append(torch.cat(keys), torch.cat(values))
        return stacked

    def view(self, rows: slice) -> "KVCache":
        """Some of the rows, in the same memory; nothing may be appended to it."""
        view = copy(self)
        view._keys, view._values = (None if each is None else each.view(rows) for each in (self._keys, self._values))
        return view

    @property
    def rows(self) -> int:
        return 0 if self._keys is None else self._keys.rows

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Add tokens at the end; gives all that is stored."""
        end = self.length + keys.shape[2]
        if self._keys is None or self._values is None or end > self.capacity:
            while self.capacity < end:
                self.capacity *= 2
            self._keys = KVBuffer(keys, self.capacity, self._keys, self.length)
            self._values = KVBuffer(values, self.capacity, self._values, self.length)
        self._keys.put(keys, self.length, end)
        self._values.put(values, self.length, end)
        self.length = end
        return self.stored()

    def extend(self) -> tuple[Tensor, Tensor]:
        """Room for one more token: keys and values, (rows, tokens, heads, size), the last of them to be filled."""
        assert self._keys is not None, "nothing has been stored yet"
        assert self._values is not None
        if self.length == self.capacity:
            keys, values = self.stored()
            self.capacity *= 2
            self._keys = KVBuffer(keys, self.capacity, self._keys, self.length)
            self._values = KVBuffer(values, self.capacity, self._values, self.length)
        self.length += 1
        return self._keys.room(self.length), self._values.room(self.length)

    def stored(self) -> tuple[Tensor, Tensor]:
        assert self._keys is not None, "nothing has been stored yet"
        assert self._values is not None
        return self._keys.upto(self.length), self._values.upto(self.length)

    def rooms(self) -> tuple[Tensor, Tensor]:
        """The whole memory, (rows, capacity, heads, size), of which `length` tokens are in use."""
        assert self._keys is not None, "nothing has been stored yet"
        assert self._values is not None
        return self._keys.room(self.capacity), self._values.room(self.capacity)

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order: how beams fork, and finished texts leave."""
        if self._keys is not None and self._values is not None:
            self._keys.select(rows, self.length)
            self._values.select(rows, self.length)

    def shift(self, by: int) -> None:
        """Put empty tokens before the first; a negative number takes tokens away there."""
        while self.capacity < self.length + by:
            self.capacity *= 2
        for buffer in (self._keys, self._values):
            if buffer is not None:
                buffer.shift(by, self.length, self.capacity)
        self.length += by

    def join(self, other: "KVCache") -> None:
        """Put the rows of another cache, which is not longer, below those of this one; all end at the same token."""
        if self._keys is not None and self._values is not None:
            assert other._keys is not None, "nothing has been stored yet"
            assert other._values is not None
            self._keys.join(other._keys, other.length, self.length)
            self._values.join(other._values, other.length, self.length)


class KVBuffer:
    """Room for the tokens of each row, (rows, tokens, heads, size): what a row holds is one stretch of memory.

    Rows move between two such rooms in turn, for asking the system for new memory takes longer than filling it.
    """

    def __init__(self, like: Tensor, capacity: int, before: "KVBuffer | None", length: int):
        batch, heads, _, size = like.shape
        self.rows = batch
        self._room = like.new_empty(batch, capacity, heads, size)
        self._spare: Tensor | None = None
        if before is not None:
            self._room[:, :length] = before._room[: self.rows, :length]

    def view(self, rows: slice) -> "KVBuffer":
        view = copy(self)
        view._room, view._spare = self._room[: self.rows][rows], None
        view.rows = len(view._room)
        return view

    def put(self, new: Tensor, start: int, end: int) -> None:
        self._room[: self.rows, start:end] = new.transpose(1, 2)

    def room(self, length: int) -> Tensor:
        return self._room[: self.rows, :length]

    def upto(self, length: int) -> Tensor:
        return self.room(length).transpose(1, 2)

    def select(self, rows: Tensor, length: int) -> None:
        if self._room.requires_grad:  # gradients flow through a copy only
            self._room, self._spare, self.rows = self._room[rows], None, len(rows)
            return
        if self._spare is None or len(self._spare) < len(rows):
            self._spare = self._room.new_empty(len(rows), *self._room.shape[1:])
        torch.index_select(self._room[:, :length], 0, rows, out=self._spare[: len(rows), :length])
        self._room, self._spare, self.rows = self._spare, self._room, len(rows)

    def shift(self, by: int, length: int, capacity: int) -> None:
        selected = self._room[: self.rows, max(0, -by) : length]
        if capacity > self._room.shape[1]:
            self._room, self._spare = self._room.new_empty(len(self._room), capacity, *self._room.shape[2:]), None
        else:
            selected = selected.clone()  # it moves within the same memory
        start = max(0, by)
        self._room[: self.rows, :start] = 0  # hidden, yet multiplied by a weight of zero: it must be a number
        self._room[: self.rows, start : start + selected.shape[1]] = selected

    def join(self, other: "KVBuffer", other_length: int, length: int) -> None:
        rows = self.rows + other.rows
        if rows > len(self._room):
            room = self._room.new_empty(max(rows, 2 * len(self._room)), *self._room.shape[1:])
            room[: self.rows, :length] = self._room[: self.rows, :length]
            self._room, self._spare = room, None
        self._room[self.rows : rows, : length - other_length] = 0
        self._room[self.rows : rows, length - other_length : length] = other._room[: other.rows, :other_length]
        self.rows = rows


class Cache:
    """One pair of caches a layer: what the text itself holds, and what it reads from its memory (cross-attention).

    The beams of a text are rows of their own but share one row of memory, which is the larger part.

    Texts of different lengths can be joined: they end at the same token, and shorter ones begin later. The distance
    between two tokens of a text stays the same, so every mask and bias that depends on distances holds as it is.
    """

    def __init__(self, layers: int, capacity: int = 64):
        self.layers = [KVCache(capacity) for _ in range(layers)]
        self.memory = [KVCache(1) for _ in range(layers)]  # filled once, at the first step
        self.last: Tensor | None = None  # the newest token of each row, for models that look at pairs
        self.starts: Tensor | None = None  # where each row begins; None: all at the first token
        self.beams = 1

    @property
    def length(self) -> int:
        """Tokens read so far."""
        return self.layers[0].length if self.layers else 0

    def select(self, rows: Tensor, beams: int = 1) -> "Cache":
        """These rows of the batch, in this order, `beams` of each text; gives the state to go on with."""
        texts = self.texts(rows, beams)
        for layer in self.layers:
            layer.select(rows)
        if texts is not None:
            for memory in self.memory:
                memory.select(texts)
        self.last = None if self.last is None else self.last[rows]
        self.beams = beams
        if self.starts is not None:
            self.starts = self.starts[rows]
            self._trim()
        return self

    def join(self, other: "Cache") -> "Cache":
        """The texts of both, whatever their lengths; gives the state to go on with. The other is used up."""
        if not self.length or not other.length:
            return other if not self.length else self
        shorter = self.length - other.length
        if shorter < 0:
            for layer in self.layers:
                layer.shift(-shorter)
        starts = self._starts() + max(0, -shorter), other._starts() + max(0, shorter)
        for layer, more in zip(self.layers, other.layers, strict=True):
            layer.join(more)
        self.starts = torch.cat(starts) if shorter or self.starts is not None or other.starts is not None else None
        if self.last is not None and other.last is not None:
            self.last = torch.cat([self.last, other.last])
        return self

    def prefix(self, tokens: Tensor) -> "Cache":
        """The state that has read these tokens only, with which all rows of this one begin; nothing is shared."""
        assert self.starts is None, "rows begin at different places"
        length = tokens.shape[1]
        prefix = Cache(len(self.layers), length + 64)
        for layer, own in zip(prefix.layers, self.layers, strict=True):
            keys, values = own.stored()
            layer.append(keys[:, :, :length], values[:, :, :length])
        prefix.last = None if self.last is None else tokens[:, -1:].to(self.last.device)
        return prefix

    def _starts(self) -> Tensor:
        if self.starts is not None:
            return self.starts
        keys, _ = self.layers[0].stored()
        return torch.zeros(self.layers[0].rows, dtype=torch.long, device=keys.device)

    def _trim(self) -> None:
        """Give tokens back that no row holds any more, once they are the larger part or a single row is left."""
        if self.starts is None or not len(self.starts):
            return
        unused = int(self.starts.min())
        if 2 * unused > self.length or len(self.starts) == 1:
            for layer in self.layers:
                layer.shift(-unused)
            self.starts = self.starts - unused
        if not self.starts.any():
            self.starts = None

    def texts(self, rows: Tensor, beams: int) -> Tensor | None:
        return other_texts(rows, beams, self.layers[0].rows // self.beams if self.layers else 0, self.beams)


def other_texts(rows: Tensor, beams: int, texts: int, beams_before: int) -> Tensor | None:
    """The rows of memory that these rows go on from; None where they are all `texts` of them, in order."""
    needed = rows[::beams] // beams_before
    return None if needed.tolist() == list(range(texts)) else needed
