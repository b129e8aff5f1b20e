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
    """Compile the blocks of a decoder for one token at a time, or load what was compiled before; whether it could.

    Unless it should `wait`, the first time ever is left to another process, and the model is as it was until a text
    begins after that. Weights that change later are not seen.
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
        if self.attach():
            return
        missing = {kind: path for kind, path in self.paths.items() if not path.exists()}
        for kind, path in missing.items():
            process = library.start_compiling(self.model.config, kind, self.precision, path)
            if process is None:
                return
            self.processes.append(process)
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
        """In the place of the steps until they are there. A text that has begun is written to its end as it began."""
        if cache is not None and not cache.length and all(path.exists() for path in self.paths.values()):
            self.attach()
        return None

    def wait(self) -> None:
        for process in self.processes:
            process.wait()
        if not self.attached and self.processes:
            self.attach()
