"""regard: every transformer from one attention operator.

run = regard.load("runs/dates")                      # a run folder, or a Hugging Face folder
run.translate(["le 3 mars 2019"])
with regard.listen(run.model) as heard:              # every attention pattern, by name
    run.translate(["le 3 mars 2019"])
"""

from typing import TYPE_CHECKING, Any

from regard.core.machine import choose_wait_policy
from regard.core.version import VERSION

if TYPE_CHECKING:
    from regard.loading import load
    from regard.parts.taps import listen

__version__ = VERSION
__all__ = ["__version__", "listen", "load"]

choose_wait_policy()


def __getattr__(name: str) -> Any:
    """Torch takes two seconds to import; whoever only wants the version or the help need not wait."""
    if name == "load":
        from regard.loading import load

        return load
    if name == "listen":
        from regard.parts.taps import listen

        return listen
    raise AttributeError(f"module 'regard' has no attribute {name!r}")
