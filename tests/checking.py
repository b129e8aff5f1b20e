"""How annotations are checked under test: as Python reads them, where a whole number may stand for a float.

jaxtyping's own decorator matches every call with its signature and checks its arguments twice, which makes small models
four times slower. Here the same is checked once: beartype looks at each argument and at the answer, in a scope of its
own for the sizes that the words of a shape stand for. Most shapes are `tests.shapes`, which are quick; a function with
one that is not, such as a sum of sizes, is checked by jaxtyping's.
"""

import ast
import inspect
import sys
from collections.abc import Sequence
from functools import wraps
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any, get_type_hints

import torch
from beartype import BeartypeConf, FrozenDict, beartype
from jaxtyping import TypeCheckError, jaxtyped

from tests.shapes import quick, scope, shapes_of

# A size is a symbol while a model is exported.
SIZES = FrozenDict({int: int | torch.SymInt, float: float | int})
beartyped = beartype(conf=BeartypeConf(hint_overrides=SIZES, violation_type=TypeCheckError))
NAME = "_checked_"  # of the decorator, in the modules that are checked


def checked(thing: Any) -> Any:
    """What every function and every class of a checked package is decorated with."""
    if inspect.isclass(thing):
        if "__dataclass_fields__" in vars(thing):
            thing.__init__ = _function(thing.__init__)  # type: ignore[misc]
        return thing
    return _function(thing)


def _function(function: Any) -> Any:
    written = function.__annotations__
    known = {name: _read(annotation, function) for name, annotation in written.items()}
    shapes = [shape for annotation in known.values() for shape in shapes_of(annotation)]
    if inspect.isgeneratorfunction(function) or any("{" in shape.dim_str for shape in shapes):
        # The body of a generator runs when the call has long ended; a size in braces is that of an argument.
        return jaxtyped(function, typechecker=beartyped)
    fast = {name: quick(annotation) for name, annotation in known.items()}
    all_fast = not any(True for annotation in fast.values() for _ in shapes_of(annotation))
    function.__annotations__ = fast if all_fast else known
    inner = beartyped(function)
    function.__annotations__ = inner.__annotations__ = written  # others read them too, such as the command line
    if not shapes:
        return inner  # no sizes to remember
    return _with_sizes(function, inner) if all_fast else _with_sizes_of_jaxtyping(function, inner)


def _with_sizes(function: Any, inner: Any) -> Any:
    @wraps(function)
    def outer(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_exporting():  # comparing symbols of sizes would fix them
            return function(*args, **kwargs)
        before, scope.sizes = scope.sizes, {}
        try:
            return inner(*args, **kwargs)
        finally:
            scope.sizes = before

    return outer


def _with_sizes_of_jaxtyping(function: Any, inner: Any) -> Any:
    @wraps(function)
    def outer(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_exporting():
            return function(*args, **kwargs)
        with jaxtyped("context"):
            return inner(*args, **kwargs)

    return outer


def _read(annotation: Any, function: Any) -> Any:
    """An annotation whose names are known; as with jaxtyping, one that is not known yet is not checked."""
    try:
        holder = SimpleNamespace(__annotations__={"it": annotation})
        return get_type_hints(holder, function.__globals__, include_extras=True)["it"]
    except NameError:
        return Any


def check_package(name: str) -> None:
    """From here on whatever is imported of this package is checked."""
    sys.meta_path.insert(0, Finder(name))


class Finder(MetaPathFinder):
    def __init__(self, package: str):
        self.package = package

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != self.package:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


class Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        """Compiled anew: what lies compiled beside the source is not checked."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:
        tree = ast.parse(data, path)
        _decorate(tree)
        return super().source_to_code(tree, path)  # type: ignore[arg-type]

    def exec_module(self, module: ModuleType) -> None:
        setattr(module, NAME, checked)
        super().exec_module(module)


def _decorate(node: Any) -> None:
    """Functions are checked before other decorators take them, classes after, when a dataclass has its `__init__`."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        name = ast.copy_location(ast.Name(NAME, ast.Load()), node)
        node.decorator_list.insert(0 if isinstance(node, ast.ClassDef) else len(node.decorator_list), name)
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, part, ()):
            _decorate(child)
