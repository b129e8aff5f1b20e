"""The verbs in the order of a day with them, as `regard --help` shows them."""

from cyclopts import Group

from regard.cli.app import app

PANELS: dict[str, tuple[str, ...]] = {
    "Begin": ("demo", "doctor", "completion"),
    "Make": ("fit", "train", "pretrain"),
    "Use": ("predict", "explain", "generate", "translate", "summarise", "classify", "fill", "export"),
    "Look and measure": ("view", "plot", "show", "evaluate", "compare", "study"),
    "Options": ("--help", "--version"),
}


def arrange() -> None:
    """Give every verb its panel."""
    for place, (title, verbs) in enumerate(PANELS.items()):
        panel = Group(title, sort_key=place)
        for verb in verbs:
            app[verb].group = (panel,)
