"""The public surface: names to import, and verbs with their options. `python -m tests.surface` rewrites the lists."""

import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

PACKAGES = (
    "regard", "regard.data", "regard.decode", "regard.interop", "regard.models", "regard.parts", "regard.studies",
    "regard.tables", "regard.tasks", "regard.text", "regard.train",
)  # fmt: skip
FOLDER = Path(__file__).parent
PYTHON, CLI = FOLDER / "python.txt", FOLDER / "cli.txt"
REWRITE = "if the change is meant, rewrite the list with: python -m tests.surface"


def public_modules() -> list[str]:
    """The packages above, and the recipes of every task."""
    tasks = import_module("regard.tasks")
    recipes = [f"regard.tasks.{job.name}.recipe" for job in pkgutil.iter_modules(tasks.__path__) if job.ispkg]
    return [*PACKAGES, *(name for name in recipes if _exists(name))]


def _exists(module: str) -> bool:
    folder, name = module.removeprefix("regard.").rsplit(".", 1)
    return (Path(import_module("regard").__file__ or "").parent / folder.replace(".", "/") / f"{name}.py").exists()


def public_names(module: str) -> list[str]:
    """What a module declares in `__all__`; of a recipe, its public functions."""
    imported = import_module(module)
    if hasattr(imported, "__all__"):
        return list(imported.__all__)
    functions = inspect.getmembers(imported, inspect.isfunction)
    return [name for name, function in functions if function.__module__ == module and not name.startswith("_")]


def python_surface() -> str:
    lines = {
        f"{module}.{_described(name, getattr(import_module(module), name))}"
        for module in public_modules()
        for name in public_names(module)
    }
    return "".join(f"{line}\n" for line in sorted(lines))


def _described(name: str, thing: Any) -> str:
    if members := get_args(thing):
        return f"{name} = {' | '.join(getattr(member, '__name__', str(member)) for member in members)}"
    if not callable(thing) or inspect.ismodule(thing):
        return name
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return name
    if getattr(thing, "_is_protocol", False):
        return name
    return f"{name}({', '.join(_parameter(one) for one in parameters)})"


def _parameter(one: inspect.Parameter) -> str:
    star = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
    default = "" if one.default is one.empty else f"={one.default!r}"
    return star + one.name + ("=..." if " at 0x" in default or "<factory>" in default else default)


def cli_surface() -> str:
    import regard.cli
    from regard.cli.app import app

    assert regard.cli
    return "".join(f"{line}\n" for line in sorted(_verbs(app, "regard")))


def _verbs(parent: Any, name: str) -> Iterator[str]:
    """A line for each verb and each of its options, with the default."""
    for verb in parent:
        if verb.startswith("-"):
            continue
        command, path = parent[verb], f"{name} {verb}"
        if command.default_command is None:
            yield from _verbs(command, path)
            continue
        yield path
        for argument in command.assemble_argument_collection():
            shown = argument.name
            if argument.field_info.is_positional:
                shown = shown.removeprefix("--").upper()
            default = argument.field_info.default
            yield f"{path} {shown}" + (" (required)" if argument.required else f" = {_plain(default)}")


def _plain(default: Any) -> str:
    return "none" if default in (None, (), inspect.Parameter.empty) else str(default)


def main() -> None:
    PYTHON.write_text(python_surface(), encoding="utf-8")
    CLI.write_text(cli_surface(), encoding="utf-8")
    from regard.cli.known_settings import write_settings

    write_settings()
