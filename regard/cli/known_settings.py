"""The names of all settings: a misspelt one is refused before torch is imported, which takes seconds.

`settings.json` lists them as a tree; `write_settings` rewrites it, and a test compares it with the configs. Where
settings of variants differ, their names are joined.
"""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from regard.core.errors import ConfigError, did_you_mean

FILE = Path(__file__).with_name("settings.json")
DEPTH = 5  # levels of settings; parts of parts of parts are checked when they are read

Tree = dict[str, Any]


def check_names(keys: Iterable[str]) -> None:
    """Refuse a key that no plan has. Parts of your own may have settings that are not listed."""
    if os.environ.get("REGARD_PARTS"):
        return
    tree: Tree = json.loads(FILE.read_text(encoding="utf-8"))
    for key in keys:
        known, path = tree, ""
        for name in key.split("."):
            if known and name not in known:
                raise ConfigError(f"unknown key {path + name!r}; {did_you_mean(name, known, path)}")
            known, path = known.get(name, {}), f"{path}{name}."


def settings_tree() -> Tree:
    """Every key that a plan can have."""
    from regard.tasks.plan import Plan

    return _below(Plan, DEPTH)


def _below(kind: Any, depth: int) -> Tree:
    from dataclasses import fields, is_dataclass
    from typing import get_args, get_type_hints

    tree: Tree = {}
    if depth and isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        for field in fields(kind):
            tree[field.name] = _below(hints[field.name], depth - 1)
    for member in get_args(kind):
        _join(tree, _below(member, depth))
    return tree


def _join(tree: Tree, other: Mapping[str, Any]) -> None:
    for name, below in other.items():
        _join(tree.setdefault(name, {}), below)


def write_settings() -> None:
    FILE.write_text(json.dumps(settings_tree(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
