"""Compile the step of a block ahead of time.

    python -m regard.decode.one_token.compile CONFIG LAYER PRECISION TEXTS OUT

A process of its own, so that text is written meanwhile. The result is a shared library that needs no compiler.
"""

import json
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any, cast

import torch

from regard.core.config import from_dict
from regard.core.files import atomic_file, write_text
from regard.decode.one_token.library import FAILED, OUTPUT, open_package
from regard.decode.one_token.step import BlockStep, both, example, position_of
from regard.decode.one_token.weights import Texts, tensors_of
from regard.models import Model
from regard.models.gpt import GPTModel, LeftToRight
from regard.parts.blocks import Block
from regard.parts.positions import PositionEncoding

EXAMPLE = 40  # tokens in the cache while it is traced: any number from 2 on fits
CHECKED = (2, 40, 131, 600)
SETTINGS = {"cpp.enable_floating_point_contract_flag": "fast"}  # a product and a sum as one instruction


def compile_step(config: LeftToRight, layer: int, precision: str, texts: Texts, out: Path) -> None:
    block, position = _random_block(config, layer)
    packed = list(tensors_of(both(block, position), precision, texts).values())
    step = BlockStep(block, position, precision, texts)
    weights = list(tensors_of(step.both, precision, texts).values())
    inputs = {**example(config, texts, EXAMPLE), "weights": weights}
    _lower_products()
    with torch.no_grad(), atomic_file(out) as temporary:
        program = torch.export.export(step, (), inputs, dynamic_shapes=_dynamic(inputs), strict=False)
        package = temporary.with_suffix(".pt2")  # the name must end so
        torch._inductor.aoti_compile_and_package(program, package_path=str(package), inductor_configs=SETTINGS)
        for tokens in CHECKED:  # compiled and plain, it gives the same, however many tokens came before
            sample = example(config, texts, tokens)
            [output] = open_package(package).boxed_run([*sample.values(), *packed])
            torch.testing.assert_close(output, step(**sample, weights=weights), rtol=1e-3, atol=1e-3)
        package.rename(temporary)


def _lower_products() -> None:
    """Have `multiplied.multiply` called without a detour through Python."""
    from torch._inductor.ir import TensorBox
    from torch._inductor.lowering import register_lowering
    from torch._inductor.mkldnn_ir import LinearUnary

    def lower(x: Any, matrix: Any) -> Any:
        return TensorBox.create(LinearUnary.create(x, matrix, None, "none", [], ""))

    register_lowering(torch.ops.regard.multiply.default, type_promotion_kind=None)(lower)


def _dynamic(inputs: dict[str, Any]) -> dict[str, Any]:
    """Which sizes are unknown: that of the cache and, of several texts, how many they are."""
    rows, tokens, room = (torch.export.Dim(name, min=2, max=2**20) for name in ("rows", "tokens", "room"))
    fixed = {"x": None, "index": None, "weights": [None] * len(inputs["weights"])}
    if "starts" not in inputs:
        return {**fixed, "keys": {1: tokens}, "values": {1: tokens}}
    by_text = {name: {0: rows} for name in ("x", "index", "starts")}
    return {**fixed, **by_text, "keys": {0: rows, 1: room}, "values": {0: rows, 1: room}, "places": {0: tokens}}


def _random_block(config: LeftToRight, layer: int) -> tuple[Block, PositionEncoding]:
    """One layer of such a model, with random weights."""
    with torch.device("meta"):
        model = config.build()
    assert isinstance(model, GPTModel)
    block, position = model.eval().decoder.blocks[layer], position_of(model, layer)
    for part in (block, position):
        part.to_empty(device="cpu")
        for weight in part.parameters():
            torch.nn.init.normal_(weight, std=0.05)
    return block, position


def main() -> None:
    """Whatever goes wrong is written into a file, which then keeps others from trying the same; a process that is
    killed writes none."""
    path, layer, precision, texts, out = sys.argv[1:]
    warnings.simplefilter("ignore")
    try:
        config = from_dict(Model, json.loads(Path(path).read_text(encoding="utf-8")), "model")
        compile_step(config, int(layer), precision, cast(Texts, texts), Path(out))
    except Exception:
        write_text(Path(out).with_suffix(FAILED), traceback.format_exc())
        raise
    finally:
        Path(path).unlink(missing_ok=True)
        Path(out).with_suffix(OUTPUT).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
