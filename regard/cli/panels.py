"""The verbs in the order of use, as `regard --help` shows them."""

import re
from collections.abc import Iterator
from inspect import cleandoc

from cyclopts import App, Group

from regard.cli.app import app, study, train
from regard.cli.verbs import USE

RULE = re.compile(r"^-+$")  # under the title of a section of a docstring
PANELS: dict[str, tuple[str, ...]] = {
    "Start": ("demo", "doctor", "bench", "completion"),
    "Make": ("fit", "distil", "train", "pretrain"),
    "Use": (
        "predict",
        "explain",
        "forecast",
        "anomalies",
        *(verb.__name__ for verb in USE),
        "serve",
        "merge",
        "export",
    ),
    "View and evaluate": ("view", "plot", "show", "evaluate", "compare", "study"),
    "Options": ("--help", "--version"),
}


def arrange() -> None:
    """Give every verb its panel and its place there; help is as wide as the screen."""
    for place, (title, verbs) in enumerate(PANELS.items()):
        panel = Group(title, sort_key=place)
        for number, verb in enumerate(verbs):
            app[verb].group, app[verb].sort_key = (panel,), number
    for several in (train, study):
        for number, verb in enumerate(several):
            if not verb.startswith("-"):
                several[verb].sort_key = number
    for one in _below(app):
        one.help_epilogue = ""  # what it says of settings is the whole program's
        if one.default_command is not None:
            one.default_command.__doc__ = unwrapped(one.default_command.__doc__ or "")


def _below(parent: App) -> Iterator[App]:
    for name in parent:
        if not name.startswith("-"):
            yield parent[name]
            yield from _below(parent[name])


def unwrapped(text: str) -> str:
    """A docstring with each paragraph on one line: where the source's lines end, a screen's do not."""
    lines: list[str] = []
    for line in cleandoc(text).splitlines():
        before = lines[-1] if lines else ""
        goes_on = before.strip() and line.strip() and _indent(before) == _indent(line)
        if goes_on and not RULE.search(before) and not RULE.search(line):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
    return "\n".join(lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
