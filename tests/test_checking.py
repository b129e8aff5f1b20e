"""What checks the annotations under test finds every kind of mistake, and nothing that is none."""

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from jaxtyping import TypeCheckError

from tests.checking import check_package

SOURCE = """
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxtyping import Float
from torch import Tensor

if TYPE_CHECKING:
    from nowhere import Unknown

Row = Float[Tensor, " size"]

def add(a: Row, b: Row) -> Row:
    return a

def twice(a: Row) -> Row:
    return a.repeat(2)

def inside(a: Row, b: Float[Tensor, " other"]) -> Row:
    add(b, b)
    return a

def some(rows: list[Row] | None, *more: Row, last: Row) -> None: ...

def zeros(count: int, less: int = 0) -> Float[Tensor, " {count}"]:
    return Tensor(count - less)

def half(a: float) -> float:
    return a / 2

def count(a: float) -> int:
    return a

def numbers(a: Row, b: Row) -> Iterator[int]:
    yield len(a)

def later(a: "Later", b: "Unknown | None" = None) -> None: ...

def known(a: "Row", b: "Row") -> None: ...

@dataclass(frozen=True)
class Pair:
    left: int
    right: Row

class Later:
    @property
    def wrong(self) -> int:
        return "no number"

    @staticmethod
    def half(a: float) -> float:
        return a / 2

    @classmethod
    def made(cls, a: int) -> str:
        return cls.__name__

def around(given: object) -> int:
    def nested(a: int) -> int:
        return a
    try:
        return nested(given)
    finally:
        pass
"""
TWO, THREE = torch.zeros(2), torch.zeros(3)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    folder, finders = tmp_path_factory.mktemp("checked"), list(sys.meta_path)
    (folder / "checked_sample").mkdir()
    (folder / "checked_sample" / "__init__.py").write_text(SOURCE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        check_package("checked_sample")
        yield importlib.import_module("checked_sample")
    sys.meta_path[:] = finders


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("add", (TWO, TWO)), ("add", (THREE, THREE)), ("inside", (TWO, THREE)), ("some", ([TWO], TWO)), ("half", (1,)),
        ("count", (1,)), ("later", ("anything",)), ("Pair", (1, TWO)), ("Later.half", (1,)), ("Later.made", (1,)),
        ("around", (1,)), ("known", (TWO, TWO)), ("zeros", (2,)),
    ],
)  # fmt: skip
def test_what_is_right_passes(sample: ModuleType, name: str, arguments: tuple[Any, ...]):
    call(sample, name, arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("add", (TWO, THREE)), ("add", (TWO, TWO[None])), ("add", (TWO.long(), TWO.long())), ("twice", (TWO,)),
        ("some", ([THREE], TWO)), ("some", (None, THREE)), ("some", ("abc",)), ("half", ("1",)), ("count", (1.5,)),
        ("numbers", (TWO, THREE)), ("Pair", ("1", TWO)), ("Pair", (1, 2)), ("Later.half", ("1",)),
        ("Later.made", ("1",)), ("around", ("1",)), ("known", (TWO, THREE)), ("zeros", (2, 1)),
    ],
)  # fmt: skip
def test_what_is_wrong_is_found(sample: ModuleType, name: str, arguments: tuple[Any, ...]):
    with pytest.raises(TypeCheckError):
        call(sample, name, arguments)


def call(sample: ModuleType, name: str, arguments: tuple[Any, ...]) -> None:
    function: Any = sample
    for word in name.split("."):
        function = getattr(function, word)
    function(*arguments, **({"last": TWO} if name == "some" else {}))


def test_properties_are_checked(sample: ModuleType):
    with pytest.raises(TypeCheckError):
        _ = sample.Later().wrong


@pytest.mark.skipif(os.environ.get("REGARD_SHAPES") == "0", reason="shape checks are switched off")
def test_the_whole_package_is_checked():
    """Every module of it that has been imported came through the hook."""
    import regard
    import regard.cli.verbs
    import regard.tasks.union  # brings most of it

    root = Path(regard.__file__).parent
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "regard" and getattr(module, "__file__", None):
            assert root in Path(module.__file__).parents, name  # type: ignore[arg-type]
            assert "_checked_" in vars(module), name
