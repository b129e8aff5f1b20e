"""The shape of the package in figures: `python -m tests.house` prints them, and `test_house.py` holds them."""

import ast
import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, get_args

import grimp

PACKAGE = Path(__file__).parent.parent / "regard"
CLASSES_MAY_BE_ASKED_IN = (
    "tasks",
    "models",
    "interop",
    "export",
)  # rooms where `isinstance` on a task or model is their job


class Measured(NamedTuple):
    value: int
    where: str


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for file in sorted(PACKAGE.rglob("*.py")):
        yield file.relative_to(PACKAGE.parent), ast.parse(file.read_text(encoding="utf-8"))


def longest_file() -> Measured:
    return max(Measured(len(file.read_text().splitlines()), str(file)) for file in PACKAGE.rglob("*.py"))


def functions() -> Iterator[tuple[Path, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for file, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield file, node


def longest_function() -> Measured:
    """Lines of a function without its docstring, which on the command line is the help."""
    return max(Measured(_lines(node), f"{file}:{node.lineno} {node.name}") for file, node in functions())


def _lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    documented = ast.get_docstring(node) is not None
    first = node.body[1] if documented and len(node.body) > 1 else node.body[0]
    return (node.end_lineno or 0) - (first.lineno if documented else node.lineno) + 1


def widest_signature() -> Measured:
    """Parameters besides self, outside the command line, whose parameters are the options of a verb."""
    return max(
        Measured(_width(node), f"{file}:{node.lineno} {node.name}")
        for file, node in functions()
        if "cli" not in file.parts and file.name != "verb.py"
    )


def _width(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    named = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return len(named) - (named[:1] in (["self"], ["cls"]))


def import_cycles() -> list[tuple[str, str]]:
    """Pairs of modules that import each other, directly or not; imports inside functions count too."""
    graph = grimp.build_graph("regard", cache_dir=None)
    pairs = ((one, other) for one in graph.modules for other in graph.find_modules_directly_imported_by(one))
    return sorted(pair for pair in pairs if graph.chain_exists(importer=pair[1], imported=pair[0]))


def imported_by_the_loop() -> list[str]:
    """The modules of the package that `import regard.train.loop` brings in."""
    program = "import sys, regard.train.loop; print(*(m for m in sys.modules if m.split('.')[0] == 'regard'))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return sorted(result.stdout.split())


def task_and_model_classes() -> set[str]:
    """Names of the config classes of tasks and models, and of the unions of them."""
    from regard.models import Model
    from regard.tasks.union import AnyTask

    return {kind.__name__ for kind in (*get_args(Model), *get_args(AnyTask))} | {"Model", "AnyTask", "FromSource"}


def asked_elsewhere() -> list[str]:
    """Where `isinstance` or `match` asks for a task or a model class outside the rooms whose job that is."""
    names, places = task_and_model_classes(), []
    for file, tree in trees():
        if file.parts[1] in CLASSES_MAY_BE_ASKED_IN:
            continue
        for node in ast.walk(tree):
            asked: list[ast.AST] = []
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                asked = list(ast.walk(node.args[1]))
            elif isinstance(node, ast.MatchClass):
                asked = [node.cls]
            places += [f"{file}:{one.lineno}" for one in asked if isinstance(one, ast.Name) and one.id in names]
    return places


def all_modules() -> list[str]:
    package = importlib.import_module("regard")
    return [one.name for one in pkgutil.walk_packages(package.__path__, "regard.") if not one.name.endswith("__main__")]


def main() -> None:
    rows = {
        "longest file": longest_file(),
        "longest function": longest_function(),
        "widest signature outside the command line": widest_signature(),
        "import cycles": import_cycles() or "none",
        "modules imported by regard.train.loop": len(imported_by_the_loop()),
        "isinstance on a task or model outside tasks, models, interop, export": asked_elsewhere() or "none",
    }
    for name, value in rows.items():
        print(f"{name}: {f'{value.value} ({value.where})' if isinstance(value, Measured) else value}")


if __name__ == "__main__":
    main()
