"""Compiled steps in the place of a model's blocks, as soon as they are there."""

import logging
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

import torch
from torch import Tensor, nn

from regard.core.shapes import States
from regard.decode.one_token import library
from regard.decode.one_token.layers import CompiledLayers, form_of
from regard.decode.one_token.library import NotStarted
from regard.decode.one_token.step import both, kind_of, position_of
from regard.decode.one_token.weights import Texts, tensors_of
from regard.models.gpt import GPTModel
from regard.parts.cache import Cache
from regard.parts.experts import Experts
from regard.parts.linear import Linear
from regard.parts.masks import Mask
from regard.parts.positions import Positions

WORTH_COMPILING = 2**22  # parameters: smaller models are fast as they are

log = logging.getLogger(__name__)


def compile_steps(model: nn.Module, precision: str, *, wait: bool = False) -> bool:
    """Load the blocks of a decoder as compiled for one token at a time, or compile them; whether one text has them.

    Unless it should `wait`, compilations run in background processes: that for one text now, that for several when
    they are first written together. The model is as it was until a text begins after that: then it has them, though
    this returned False. Weights that change later are not seen.
    """
    if not isinstance(model, GPTModel) or not _worth_compiling(model):
        return False
    folder = library.folder()
    if folder is None:
        return False
    if any(isinstance(part, Linear) and part.adapter is not None for part in model.modules()):
        log.info("note: a model with an adapter is not compiled; merge the adapter first (regard merge)")
        return False
    model.decoder.compiled = steps = Steps(model, precision, folder)
    steps.attach()
    steps.start("one")
    if wait:
        steps.wait()
    return steps.forms["one"].layers is not None


def _worth_compiling(model: GPTModel) -> bool:
    if isinstance(model.config.feed, Experts):  # which weights are needed depends on the token
        return False
    weights = list(model.parameters())
    plain = all(weight.device.type == "cpu" and weight.dtype == torch.float32 for weight in weights)
    return plain and sum(weight.numel() for weight in weights) >= WORTH_COMPILING


@dataclass
class Form:
    """The steps for one text, or for several: one package for all layers that are alike."""

    paths: dict[int, Path]
    layers: CompiledLayers | None = None
    processes: list[subprocess.Popen[bytes]] | None = None  # None: nobody was asked to compile


@dataclass
class Steps:
    """The steps of all layers of one model."""

    model: GPTModel
    precision: str
    folder: Path
    forms: dict[Texts, Form] = field(init=False)

    def __post_init__(self) -> None:
        config = self.model.config
        self.kinds = {layer: kind_of(config, layer) for layer in range(config.layers)}
        paths = {
            texts: {
                kind: library.path_of(config, kind, self.precision, texts, self.folder) for kind in self.kinds.values()
            }
            for texts in get_args(Texts)
            if texts == "one" or self.model.joins_texts
        }
        self.forms = {texts: Form(each) for texts, each in paths.items()}
        self.taps = [block.attend.pattern for block in self.model.decoder.blocks]

    def weights(self, texts: Texts) -> list[list[Tensor]]:
        """Of each layer, in the order in which the steps take them."""
        whole = (both(block, position_of(self.model, layer)) for layer, block in enumerate(self.model.decoder.blocks))
        return [list(tensors_of(each, self.precision, texts).values()) for each in whole]

    def __call__(self, x: States, mask: Mask | None, positions: Positions | None, cache: Cache | None) -> States | None:
        """What the blocks give, or None where the inputs are others than those that there are steps for.

        Whether there are new steps is looked up where a text begins. The others that are being written go on by them
        too: they give the same up to rounding, from the same cache.
        """
        if cache is None:
            return None
        if not cache.length:
            self.attach()
            return None
        texts = form_of(x, mask, positions, cache)
        if texts is None or texts not in self.forms or any(tap.watched for tap in self.taps):
            return None
        layers = self.forms[texts].layers
        if layers is None:
            self.start(texts)
            return None
        assert positions is not None
        return layers(x, positions, cache)

    def attach(self) -> None:
        """Load what has been compiled by now."""
        for texts, form in self.forms.items():
            if form.layers is None and all(path.exists() for path in form.paths.values()):
                packages = {kind: library.load(path) for kind, path in form.paths.items()}
                if all(packages.values()):
                    of_layers = [packages[kind] for kind in self.kinds.values()]
                    form.layers = CompiledLayers(self.model.decoder, of_layers, self.weights(texts))

    def start(self, texts: Texts) -> None:
        """Have the steps compiled in processes of their own, unless somebody was asked already."""
        form = self.forms[texts]
        if form.layers is not None or form.processes is not None:
            return
        form.processes = []
        for kind, path in form.paths.items():
            if path.exists():
                continue
            started = library.start_compiling(self.model.config, kind, self.precision, texts, path)
            if not isinstance(started, NotStarted):
                form.processes.append(started)
            elif started is not NotStarted.ELSEWHERE:
                return
        if form.processes:
            log.info("note: compiling the model for this machine, in the background; the next text is written faster")

    def wait(self) -> None:
        """Until all forms are compiled by the processes of this one; others are not waited for."""
        for texts, form in self.forms.items():
            self.start(texts)
            for process in form.processes or []:
                process.wait()
        self.attach()
