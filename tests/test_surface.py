"""The public surface changes only on purpose: names to import, verbs with their options, and settings."""

import ast
import json

import pytest

from regard.cli.known_settings import FILE, settings_tree
from tests.house import trees
from tests.surface import CLI, PACKAGES, PYTHON, REWRITE, cli_surface, public_names, python_surface

# And verb.py: results go to stdout. Scripts are copied beside exported models, and are programs of their own.
MAY_PRINT = ("regard/cli/", "regard/demo/", "regard/export/scripts/", "regard/tasks/options.py")


def test_names_to_import_and_their_parameters() -> None:
    assert python_surface().splitlines() == PYTHON.read_text(encoding="utf-8").splitlines(), REWRITE


def test_verbs_and_options() -> None:
    assert cli_surface().splitlines() == CLI.read_text(encoding="utf-8").splitlines(), REWRITE


def test_settings() -> None:
    assert json.loads(FILE.read_text(encoding="utf-8")) == settings_tree(), REWRITE


@pytest.mark.parametrize("module", PACKAGES)
def test_what_is_declared_is_sorted_and_there(module: str) -> None:
    __import__(module)
    names = public_names(module)
    assert len(set(names)) == len(names)


def test_the_library_logs_and_only_verbs_print() -> None:
    printing = [
        f"{file}:{node.lineno}"
        for file, tree in trees()
        if not str(file).startswith(MAY_PRINT) and file.name != "verb.py"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert printing == [], "use logging.getLogger(__name__)"
