"""Hints for torch.compile that do not import the compiler, which takes seconds that most commands do not need."""

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

import torch

P = ParamSpec("P")
R = TypeVar("R")


def constant_result(function: Callable[P, R]) -> Callable[P, R]:
    """`torch.compiler.assume_constant_result`: the compiler calls the function and keeps its result."""
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return function


def never_compiled(function: Callable[P, R]) -> Callable[P, R]:
    """`torch.compiler.disable`, decided at the first call."""

    @functools.wraps(function)
    def eager(*args: P.args, **kwargs: P.kwargs) -> R:
        if "torch._dynamo" not in sys.modules:
            return function(*args, **kwargs)
        result: R = _disabled(function)(*args, **kwargs)
        return result

    return eager


@functools.cache
def _disabled(function: Callable[P, R]) -> Callable[P, R]:
    disabled: Callable[P, R] = torch.compiler.disable(function)
    return disabled


@contextmanager
def eager_mode() -> Iterator[None]:
    """Compiled modules run uncompiled: for shapes that differ from those of training."""
    if "torch._dynamo" not in sys.modules:  # then nothing is compiled
        yield
        return
    with torch.compiler.set_stance("force_eager"):
        yield
