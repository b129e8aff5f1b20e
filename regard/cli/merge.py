"""`regard merge`: an adapter and its base as one model."""

from pathlib import Path

from regard.cli.app import app


@app.command
def merge(run: Path, *, out: Path) -> None:
    """Add an adapter to the weights of its base model, so that the model stands alone.

    Parameters
    ----------
    run
        Run folder of `regard train … --adapter LoRA`, which becomes a run folder; or a PEFT folder, which becomes a
        Hugging Face folder.
    out
        New folder to write. Its model gives the same answers, and no longer needs the base.
    """
    from regard.tasks.merging import merge_adapter

    print(f"wrote {out}: {merge_adapter(run, out)}")
