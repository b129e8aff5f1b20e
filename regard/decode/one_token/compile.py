"""Compile the step of a block ahead of time: `python -m regard.decode.one_token.compile CONFIG LAYER PRECISION OUT`.

A process of its own, so that text is written meanwhile. The result is a shared library that needs no compiler.
"""

import json
import sys
import traceback
import warnings
from pathlib import Path

import torch
from torch import Tensor

from regard.core.config import from_dict
from regard.core.files import atomic_file, write_text
from regard.decode.one_token.library import FAILED, OUTPUT, open_package
from regard.decode.one_token.step import BlockStep, example, position_of
from regard.decode.one_token.streamed import tensors_of
from regard.models import Model
from regard.models.gpt import GPTModel, LeftToRight

EXAMPLE = 40  # tokens in the cache while it is traced: any number from 2 on fits
CHECKED = (2, 40, 131, 600)
SETTINGS = {"cpp.enable_floating_point_contract_flag": "fast"}  # a product and a sum as one instruction


def compile_step(config: LeftToRight, layer: int, precision: str, out: Path) -> None:
    step = _random_step(config, layer, precision)
    weights = list(tensors_of(step.both, precision).values())
    x, index, keys, values = example(config, EXAMPLE)
    tokens = torch.export.Dim("tokens", min=2, max=2**20)
    shapes = {"x": None, "index": None, "keys": {1: tokens}, "values": {1: tokens}, "weights": [None] * len(weights)}
    inputs = (x, index, keys, values, weights)
    with torch.no_grad(), atomic_file(out) as temporary:
        program = torch.export.export(step, inputs, dynamic_shapes=shapes, strict=False)
        package = temporary.with_suffix(".pt2")  # the name must end so
        torch._inductor.aoti_compile_and_package(program, package_path=str(package), inductor_configs=SETTINGS)
        _check(step, package, config, weights)
        package.rename(temporary)


@torch.no_grad()
def _check(step: BlockStep, package: Path, config: LeftToRight, weights: list[Tensor]) -> None:
    """Compiled and plain, a step gives the same, however many tokens came before."""
    compiled = open_package(package)
    for tokens in CHECKED:
        x, index, keys, values = example(config, tokens)
        [output] = compiled.boxed_run([x, index, keys.clone(), values.clone(), *weights])
        torch.testing.assert_close(output, step(x, index, keys, values, weights), rtol=1e-3, atol=1e-3)


def _random_step(config: LeftToRight, layer: int, precision: str) -> BlockStep:
    """One layer of such a model, with random weights."""
    with torch.device("meta"):
        model = config.build()
    assert isinstance(model, GPTModel)
    block, position = model.eval().decoder.blocks[layer], position_of(model, layer)
    for part in (block, position):
        part.to_empty(device="cpu")
        for weight in part.parameters():
            torch.nn.init.normal_(weight, std=0.05)
    return BlockStep(block, position, precision)


def main() -> None:
    """Whatever goes wrong is written into a file, which then keeps others from trying the same; a process that is
    killed writes none."""
    path, layer, precision, out = sys.argv[1:]
    warnings.simplefilter("ignore")
    try:
        config = from_dict(Model, json.loads(Path(path).read_text(encoding="utf-8")), "model")
        compile_step(config, int(layer), precision, Path(out))
    except Exception:
        write_text(Path(out).with_suffix(FAILED), traceback.format_exc())
        raise
    finally:
        Path(path).unlink(missing_ok=True)
        Path(out).with_suffix(OUTPUT).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
