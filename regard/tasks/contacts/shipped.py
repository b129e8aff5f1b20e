"""The contact weights that come with the package."""

from pathlib import Path

from regard.core.errors import ConfigError, UserError
from regard.store import WEIGHTS
from regard.tasks.base import Run
from regard.tasks.contacts.task import Contacts

FOLDER = Path(__file__).parent / "weights"


def contact_run(weights: str | Path | None = None) -> Run:
    """The run of a folder of `regard pretrain contacts`; by default the one that is shipped."""
    from regard.tasks.run import load_run

    folder = FOLDER if weights is None else Path(weights)
    if weights is None and not (folder / WEIGHTS).exists():
        raise UserError(
            f"{folder}: has no weights; make some with `regard pretrain contacts` and name them (--weights)"
        )
    run = load_run(folder)
    if not isinstance(run.task, Contacts):
        raise ConfigError(f"{folder}: is not a run of `regard pretrain contacts`")
    return run
