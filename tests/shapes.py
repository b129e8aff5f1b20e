"""Shapes as classes that are quick to ask whether a tensor has them.

jaxtyping's own classes say the same, but take twenty microseconds for every argument, which was half of the time of the
tests of small models: the sizes that words stand for are copied before each look, and types are compared as texts.
"""

import threading
from collections.abc import Iterator
from functools import cache
from types import GenericAlias, UnionType
from typing import Any, Union, get_args, get_origin

from jaxtyping import AbstractArray


class Scope(threading.local):
    """What the words of the shapes of one call stand for: a size, or several for a word with a star."""

    sizes: dict[str, Any] | None = None


scope = Scope()


class OrOne(str):
    """A word for a size in the place of which may be 1."""


class Shape(type):
    """The class of such classes."""

    array: type
    dtypes: dict[Any, bool]
    slow: type[AbstractArray]
    words: tuple[str | int | None, ...]  # None: of any size
    star: int | None  # the place of the word that stands for several sizes
    after: int  # how many words come after it

    def __instancecheck__(cls, value: Any) -> bool:
        if not isinstance(value, cls.array):
            return False
        right = cls.dtypes.get(value.dtype)
        if right is None:
            right = cls.dtypes[value.dtype] = _has_dtype(cls.slow, value)
        if not right:
            return False
        shape = value.shape
        if cls.star is not None:
            end = len(shape) - cls.after
            if end < cls.star:
                return False
            shape = (*shape[: cls.star], tuple(shape[cls.star : end]), *shape[end:])
        elif len(shape) != len(cls.words):
            return False
        return _agrees(cls.words, shape)

    def __instancecheck_str__(cls, value: Any) -> str:
        """Why it is none, for the message of an error; empty if it is one."""
        if isinstance(value, cls):
            return ""
        found = f"{value.dtype} of shape {tuple(value.shape)}" if hasattr(value, "shape") else type(value).__name__
        return f"this is {found}, not {cls.__name__}, where {scope.sizes}"


def _agrees(words: tuple[str | int | None, ...], shape: Any) -> bool:
    """Whether words stand for the same sizes as before; what is new is remembered, unless something does not fit."""
    sizes = scope.sizes
    assert sizes is not None
    new: list[str] = []
    for word, size in zip(words, shape, strict=True):
        if word is None or (word.__class__ is OrOne and size == 1):
            continue
        known = word if word.__class__ is int else sizes.get(word)
        if known is None:
            sizes[word] = size
            new.append(word)
        elif known != size:
            for each in new:
                del sizes[each]
            return False
    return True


def _has_dtype(slow: type[AbstractArray], value: Any) -> bool:
    """As jaxtyping says, about any shape."""
    return isinstance(value, slow.dtype[slow.array_type, "..."])  # type: ignore[type-var,index]


def quick(annotation: Any) -> Any:
    """The annotation with such classes in the place of jaxtyping's, as far as they can be."""
    if isinstance(annotation, type) and issubclass(annotation, AbstractArray):
        return _shape(annotation)
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return Union[tuple(map(quick, parts))]  # noqa: UP007  # as many as there are
    if type(annotation) is GenericAlias and any(True for _ in shapes_of(annotation)):
        return GenericAlias(origin, tuple(map(quick, parts)))  # type: ignore[arg-type]
    return annotation


def shapes_of(annotation: Any) -> Iterator[type[AbstractArray]]:
    """Those of jaxtyping in it."""
    if isinstance(annotation, type) and issubclass(annotation, AbstractArray):
        yield annotation
    for part in get_args(annotation):
        yield from shapes_of(part)


@cache
def _shape(slow: type[AbstractArray]) -> type:
    """Itself where its text holds more than names, numbers, stars and dots."""
    words: list[str | int | None] = []
    star = None
    for place, text in enumerate(slow.dim_str.split()):
        name = text.removeprefix("*")
        if name != text or name == "...":
            star = place
        if text.startswith("#"):
            name = text = OrOne(text[1:])
        if name in ("...", "_"):
            words.append(None)
        elif name.isdecimal() and name == text:
            words.append(int(name))
        elif name.isidentifier() and not name.startswith("_"):
            words.append(text)
        else:
            return slow
    if slow.array_type is Any or not isinstance(slow.array_type, type):
        return slow
    after = 0 if star is None else len(words) - star - 1
    known = {"array": slow.array_type, "dtypes": {}, "slow": slow, "words": tuple(words), "star": star, "after": after}
    return Shape(slow.__name__, (), known)
