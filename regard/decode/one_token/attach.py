"""Compiled steps in the place of a model's blocks, as soon as they are there."""

import logging
import subprocess
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regard.core.errors import ConfigError
from regard.core.shapes import States
from regard.decode.one_token import library
from regard.decode.one_token.layers import CompiledLayers
from regard.decode.one_token.library import NotStarted
from regard.decode.one_token.step import both, kind_of, position_of
from regard.decode.one_token.streamed import tensors_of
from regard.models.gpt import GPTModel
from regard.parts.cache import Cache
from regard.parts.experts import Experts
from regard.parts.masks import Mask
from regard.parts.positions import Positions

WORTH_COMPILING = 2**22  # parameters: smaller models are fast as they are

log = logging.getLogger(__name__)


def compile_steps(model: nn.Module, precision: str, *, wait: bool = False) -> bool:
    """Load the blocks of a decoder as compiled for one token at a time, or compile them; whether the model has them.

    Unless it should `wait`, the first compilation runs in a background process, and the model is as it was until a
    text begins after that: then it has them, though this returned False. Weights that change later are not seen.
    """
    if not isinstance(model, GPTModel) or not _worth_compiling(model):
        return False
    folder = library.folder()
    if folder is None:
        return False
    kinds = {layer: kind_of(model.config, layer) for layer in range(model.config.layers)}
    paths = {kind: library.path_of(model.config, kind, precision, folder) for kind in kinds.values()}
    steps = Steps(model, precision, kinds, paths)
    steps.attach_or_start()
    if wait:
        steps.wait()
    return steps.attached


def _worth_compiling(model: GPTModel) -> bool:
    if isinstance(model.config.feed, Experts):  # which weights are needed depends on the token
        return False
    weights = list(model.parameters())
    plain = all(weight.device.type == "cpu" and weight.dtype == torch.float32 for weight in weights)
    return plain and sum(weight.numel() for weight in weights) >= WORTH_COMPILING


class Steps:
    """The steps of all layers of one model: one package for all that are alike."""

    def __init__(self, model: GPTModel, precision: str, kinds: dict[int, int], paths: dict[int, Path]):
        self.model, self.precision, self.kinds, self.paths = model, precision, kinds, paths
        self.attached = False
        self.processes: list[subprocess.Popen[bytes]] = []

    def attach_or_start(self) -> None:
        missing = {kind: path for kind, path in self.paths.items() if not path.exists()}
        if self.attach() or not missing:
            return
        for kind, path in missing.items():
            started = library.start_compiling(self.model.config, kind, self.precision, path)
            if not isinstance(started, NotStarted):
                self.processes.append(started)
            elif started is not NotStarted.ELSEWHERE:
                return
        log.info("note: compiling the model for this machine, in the background; the next text is written faster")
        self.model.decoder.compiled = self.not_yet

    def attach(self) -> bool:
        packages: dict[int, Any] = {kind: library.load(path) for kind, path in self.paths.items()}
        if not all(packages.values()):
            return False
        stack, layers = self.model.decoder, range(len(self.kinds))
        whole = (both(stack.blocks[layer], position_of(self.model, layer)) for layer in layers)
        try:
            weights = [list(tensors_of(each, self.precision).values()) for each in whole]
        except ConfigError as error:  # an adapter
            log.info("note: %s", error)
            stack.compiled = None
            return False
        stack.compiled = CompiledLayers(stack, [packages[self.kinds[layer]] for layer in layers], weights)
        self.attached = True
        return True

    def not_yet(self, x: States, mask: Mask | None, positions: Positions | None, cache: Cache | None) -> States | None:
        """In the place of the steps until they are there, which is looked up where a text begins. The other texts that
        are being written go on by them too: they give the same up to rounding, from the same cache."""
        if cache is not None and not cache.length and all(path.exists() for path in self.paths.values()):
            self.attach()
        return None

    def wait(self) -> None:
        """Until the processes of this one have ended; others are not waited for."""
        for process in self.processes:
            process.wait()
        if not self.attached and self.processes:
            self.attach()
