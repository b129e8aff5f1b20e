"""How annotations are checked under test: as Python reads them, where a whole number may stand for a float.

jaxtyping's own decorator matches every call with its signature and checks its arguments twice, which makes small models
four times slower. Here the same is checked once: beartype looks at each argument and at the answer, in a scope of its
own for the sizes that the words of a shape stand for.
"""

import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, get_args

import jaxtyping
from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True, violation_type=jaxtyping.TypeCheckError))
by_jaxtyping = jaxtyping.jaxtyped


def checked(thing: Any = None, *, typechecker: Callable[[Any], Any]) -> Any:
    """What the import hook decorates every function and class with, in place of `jaxtyping.jaxtyped`."""
    if thing is None:
        return partial(checked, typechecker=typechecker)
    if inspect.isclass(thing):
        if "__dataclass_fields__" in vars(thing):
            thing.__init__ = _checked(thing.__init__, typechecker)  # type: ignore[misc]
        return thing
    if inspect.isgeneratorfunction(thing):  # its body runs when the call has long ended
        return by_jaxtyping(thing, typechecker=typechecker)
    return _checked(thing, typechecker)


def _checked(function: Any, typechecker: Callable[[Any], Any]) -> Any:
    inner = typechecker(function)
    if not any(map(_may_hold_a_shape, function.__annotations__.values())):
        return inner  # no sizes to remember

    @wraps(function)
    def outer(*args: Any, **kwargs: Any) -> Any:
        with by_jaxtyping("context"):
            return inner(*args, **kwargs)

    return outer


def _may_hold_a_shape(annotation: Any) -> bool:
    if isinstance(annotation, str | type):
        return isinstance(annotation, str) or issubclass(annotation, jaxtyping.AbstractArray)
    return any(map(_may_hold_a_shape, get_args(annotation)))
