"""What the API reference adds to docstrings (a griffe extension): the settings of each dataclass as a table.

A dataclass of this package documents its fields by a comment on the line of each, and its idea in the first line of its
file. The table lists the fields, inherited ones included; a class without a docstring gets the first line of its file.
"""

import re
from collections.abc import Iterator
from typing import Any

import griffe

COMMENT = re.compile(r"#\s(.+)$")
HEAD = "| setting | type | default | |\n|---|---|---|---|\n"


class Settings(griffe.Extension):
    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        found = list(classes(pkg))
        for one in found:
            document(one)
        for one in found:
            hide_internals(one)
        hide_docstrings(pkg)


def classes(parent: griffe.Module) -> Iterator[griffe.Class]:
    for member in parent.members.values():
        if isinstance(member, griffe.Module):
            yield from classes(member)
        elif isinstance(member, griffe.Class):
            yield member


def document(one: griffe.Class) -> None:
    text = one.docstring.value if one.docstring else first_line(one.module)
    if is_dataclass(one) and (rows := [row(field) for field in fields(one)]):
        text += "\n\n" + HEAD + "\n".join(rows)
    one.docstring = griffe.Docstring(text, parent=one, parser="numpy")


def is_dataclass(one: griffe.Class) -> bool:
    return any(str(mark.value).startswith("dataclass") for mark in one.decorators)


def first_line(module: griffe.Module) -> str:
    return module.docstring.value.splitlines()[0] if module.docstring else ""


def fields(one: griffe.Class) -> list[griffe.Attribute]:
    """The fields in the order of the constructor; a subclass may change the default of an inherited one."""
    found: dict[str, griffe.Attribute] = {}
    for origin in (*reversed(one.mro()), one):
        for member in origin.members.values():
            if isinstance(member, griffe.Attribute) and is_field(member):
                found[member.name] = member
    return list(found.values())


def is_field(member: griffe.Attribute) -> bool:
    labels = member.labels
    return member.annotation is not None and "instance-attribute" in labels and "property" not in labels


def row(field: griffe.Attribute) -> str:
    line = field.lines[-1] if field.lines else ""
    comment = COMMENT.search(line)
    about = comment[1].replace("|", "\\|") if comment else ""
    return f"| `{field.name}` | {code(field.annotation)} | {code(field.value)} | {about} |"


def code(value: object) -> str:
    return f"`{value}`" if value is not None else ""


def hide_internals(one: griffe.Class) -> None:
    """Fields are in the table, and other attributes are internal; so are overrides that document nothing new."""
    for name, member in list(one.members.items()):
        internal = isinstance(member, griffe.Attribute) and "property" not in member.labels
        repeats = isinstance(member, griffe.Function) and not member.docstring and overrides(one, name)
        if internal or repeats:
            del one.members[name]
    if is_dataclass(one):
        one.decorators = []


def overrides(one: griffe.Class, name: str) -> bool:
    """Whether a base class has the method, and so its documentation."""
    return name != "__init__" and any(name in base.members for base in one.mro())


def hide_docstrings(module: griffe.Module) -> None:
    """The pages say what a module is for; docstrings of modules are written for readers of the source."""
    module.docstring = None
    for member in module.members.values():
        if isinstance(member, griffe.Module):
            hide_docstrings(member)
