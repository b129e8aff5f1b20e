"""The weights of a block in the form that a compiled step takes them."""

from typing import Literal

from torch import Tensor, nn

from regard.core.errors import ConfigError
from regard.decode.one_token.multiplied import Multiplied, packed_matrix
from regard.decode.one_token.streamed import streamed
from regard.parts.linear import Linear

Texts = Literal["one", "several"]  # that are written at once


def convert(block: nn.Module, precision: str, texts: Texts) -> None:
    """Replace every linear layer of a block by the form for so many texts, in place."""
    for path, layer in list(block.named_modules()):
        if isinstance(layer, Linear):
            parent, _, name = path.rpartition(".")
            converted = streamed(layer, precision) if texts == "one" else Multiplied(layer, precision)
            setattr(block.get_submodule(parent), name, converted)


def tensors_of(block: nn.Module, precision: str, texts: Texts) -> dict[str, Tensor]:
    """What a converted block computes with, by name, in an order that depends on the names alone.

    The block may be as it is, or converted already.
    """
    named: dict[str, Tensor] = {}
    for path, module in block.named_modules():
        for name, tensor in _own(module, precision, texts).items():
            named[f"{path}.{name}"] = tensor.detach()
    return {name: named[name] for name in sorted(named)}


def _own(module: nn.Module, precision: str, texts: Texts) -> dict[str, Tensor]:
    if not isinstance(module, Linear):
        return dict([*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)])
    if module.adapter is not None:
        raise ConfigError("a layer with an adapter cannot be compiled; merge the adapter first")
    if texts == "one":
        return dict(streamed(module, precision).named_buffers())
    bias = {} if module.bias is None else {"bias": module.bias}
    return {"matrix": packed_matrix(module, precision), **bias}
