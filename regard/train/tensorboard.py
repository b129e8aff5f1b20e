"""Callbacks of training, and one that writes event files for TensorBoard."""

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from regard.core.extras import require

# Called by the first process with each line of metrics when it is logged: `step` and what was measured there. What it
# raises ends the training.
Callback = Callable[[Mapping[str, Any]], None]


class TensorBoard(AbstractContextManager["TensorBoard"]):
    """Writes what training logs as event files: `regard.train(plan, out, callbacks=[TensorBoard(folder)])`.

    Numbers become scalars and samples of the output texts. Scores of the finished run are named `final/…`. Of a resumed
    run TensorBoard hides what an earlier process logged after the checkpoint.
    """

    def __init__(self, folder: str | Path):
        require("tensorboard", "logging for TensorBoard")
        self.folder = Path(folder)
        self._writer: Any = None

    def __call__(self, line: Mapping[str, Any]) -> None:
        step = line["step"]
        if self._writer is None:  # only now: of several processes the first one logs, and the others write no file
            from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(str(self.folder), purge_step=step)
        measured_in_training = "lr_multiplier" in line or "valid" in line
        for name, value in line.items():
            if isinstance(value, str):
                self._writer.add_text(name, value, step)
            elif name != "step" and isinstance(value, int | float) and math.isfinite(value):
                self._writer.add_scalar(name if measured_in_training else f"final/{name}", value, step)
        self._writer.flush()

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
