"""Training: tokens a second of the language-model recipe on synthetic tokens, eager or compiled as it would choose."""

import statistics
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch

from regard.bench.measurement import Figure, Measurement
from regard.bench.sizes import Sizes
from regard.core.machine import best_device
from regard.data.text.windows import Windows
from regard.tasks import LanguageModel
from regard.tasks.lm.recipe import language_model
from regard.tasks.vocabulary import with_vocab
from regard.text import Characters
from regard.train.keeper import MemoryKeeper
from regard.train.loop import Loop
from regard.train.precision import choose

CHARACTERS = "".join(map(chr, range(0x21, 0x5D)))  # with five special tokens a vocabulary of 65, as tinyshakespeare
WARM_UP = 2  # steps: the first one compiles


def measure(sizes: Sizes, rounds: int, _: Path) -> Measurement:
    plan = language_model(("synthetic",))
    steps, length = WARM_UP + sizes.train_steps * rounds, plan.data.length
    rows = sizes.batch_size or plan.training.batch_size
    tokens = np.random.default_rng(0).integers(5, 5 + len(CHARACTERS), size=(rows + 2) * length * 4)
    data, model = Windows(tokens, length, rows), with_vocab(plan.model, Characters().train([CHARACTERS])).build()
    parameters = sum(one.numel() for one in model.parameters())
    recipe = replace(plan.training, minutes=sizes.train_minutes)
    chosen = choose(recipe, parameters * rows * length, None, fixed_shape=True, device=best_device())
    training = replace(
        recipe, minutes=None, steps=steps, batch_size=rows, log_every=1, eval_every=steps + 1,
        compile="always" if chosen.compiled else "never", precision="bfloat16" if chosen.bfloat16 else "float32",
    )  # fmt: skip
    keeper = MemoryKeeper()
    with torch.random.fork_rng():
        report = Loop(model, LanguageModel(length=length), data, training, keeper).run()
    if report.stopped_by:  # the loop takes Ctrl-C for a wish to end after a step
        raise KeyboardInterrupt
    clock = [line["seconds"] for line in keeper.metrics if "loss" in line][WARM_UP - 1 :]
    seconds = statistics.median(after - before for before, after in pairwise(clock))
    about = f"the recipe of `regard train lm`: {parameters / 1e6:.1f} M parameters, {rows} × {length} tokens a step"
    how = str(chosen) if chosen.compiled else f"eager {chosen}"
    return Measurement("train", about, (Figure(f"a step, {how}", rows * length / seconds, "tokens/s"),))
