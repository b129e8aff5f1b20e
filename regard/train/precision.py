"""Precision: bfloat16 where the processor supports it and matrices are large, compiled where that pays off."""

import math
import warnings
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch
from torch import nn

from regard.core.errors import ConfigError
from regard.core.machine import compiler, has_fast_bfloat16
from regard.core.modules import RepeatedBlock
from regard.train.settings import Training

EAGER_FLOPS = 100e9  # what two cores reach in float32; only decides whether a run counts as long
WORTH_COMPILING = 100  # seconds: compiling one block takes about ten
MAX_VARIANTS = 64  # of a block with symbolic sizes: sizes of one, training or not, which arguments are given
WORTH_BFLOAT16 = 2**32  # parameters × tokens of a step: below it, casting costs as much as faster products save


@dataclass(frozen=True)
class Precision:
    device: str
    bfloat16: bool
    compiled: bool
    fixed_shape: bool = True  # of all batches

    def context(self) -> AbstractContextManager[object]:
        return torch.autocast(self.device.split(":")[0], torch.bfloat16, enabled=self.bfloat16)

    def prepare(self, model: nn.Module) -> None:
        """Compile block by block: blocks are alike, so one compilation of a few seconds serves every layer.

        Where shapes change, sizes are symbolic, so that one compilation serves all of them.
        """
        if self.bfloat16:  # norms keep float32 weights on purpose, and torch warns of it
            warnings.filterwarnings("ignore", message="Mismatch dtype between input and weight")
        if self.compiled:
            if not self.fixed_shape:
                torch._dynamo.config.recompile_limit = max(torch._dynamo.config.recompile_limit, MAX_VARIANTS)
            for block in model.modules():
                if isinstance(block, RepeatedBlock):
                    block.compile(dynamic=None if self.fixed_shape else True)

    def __str__(self) -> str:
        return f"{'compiled ' if self.compiled else ''}{'bfloat16' if self.bfloat16 else 'float32'} on {self.device}"


def choose(training: Training, work: int, steps: int | None, *, fixed_shape: bool, device: str) -> Precision:
    """Chosen from the settings alone, so that a repeated run makes the same choice.

    `work` is parameters × tokens of one step.
    """
    seconds = 60 * training.minutes if training.minutes is not None else math.inf
    if steps is not None:
        seconds = min(seconds, 6 * work * steps / EAGER_FLOPS)
    can_compile = device != "cpu" or compiler() is not None
    if training.compile == "always" and not can_compile:
        raise ConfigError("training.compile: always needs a C++ compiler, and none is installed; auto does without")
    long = seconds >= WORTH_COMPILING and fixed_shape and can_compile
    compiled = training.compile == "always" or (training.compile == "auto" and long)
    fast = has_fast_bfloat16(device)
    large = compiled or work >= WORTH_BFLOAT16
    bfloat16 = training.precision == "bfloat16" or (training.precision == "auto" and fast and large)
    return Precision(device, bfloat16, compiled, fixed_shape)
