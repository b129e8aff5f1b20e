"""The application that every verb joins."""

from typing import Any

from cyclopts import App, Parameter

import regard


def format_default(value: Any) -> str | None:
    """A default as help shows it; a flag that is off and an empty list show nothing."""
    if value is None or value is False or value in ((), ""):
        return None
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


app = App(
    name="regard",
    version=regard.__version__,
    help_format="plaintext",  # reading Markdown would cost 50 ms
    default_parameter=Parameter(negative=(), consume_multiple=True, show_default=format_default),
    help="Every transformer from one attention operator: train it, look inside, ship it. Start with `regard demo`.",
    help_epilogue="Settings of a run are dotted options, such as --model.layers 6 --model.attention BigBird. "
    "--debug shows the traceback of an error.",
)
train = App(name="train", help="Train a model; the result is a run folder.")
app.command(train)
pretrain = App(name="pretrain", help="Pre-train the in-context table model on synthetic tables.")
app.command(pretrain)
study = App(name="study", help="Answer a question that takes many runs; the result is a report.")
app.command(study)
