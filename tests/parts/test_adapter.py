"""Adapters: what is trained, what it computes, and that merging changes no output."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from regard.core.config import from_dict, to_dict
from regard.core.errors import ConfigError
from regard.core.tensors import trained_state
from regard.models import BERT, GPT, RNN, Transformer, ViT
from regard.parts import Experts, LoRA
from regard.parts.adapter import LAYERS, Adapter, adapted_layers, attach, merge
from regard.parts.linear import LayerAdapter
from regard.train import AdamW, Muon
from regard.train.ema import EMA

SIZES = {"width": 16, "layers": 2, "heads": 2}
GPT_SMALL = GPT(vocab=20, **SIZES)
MODELS = {
    "GPT": GPT_SMALL,
    "experts": GPT(vocab=20, feed=Experts(count=3), **SIZES),
    "BERT": BERT(vocab=20, **SIZES),
    "ViT": ViT(labels=3, image=8, patch=4, **SIZES),
    "Transformer": Transformer(vocab=20, **SIZES),
}


def answer(model: nn.Module) -> Tensor:
    torch.manual_seed(0)
    tokens = torch.randint(0, 20, (2, 5))
    kind = type(model).__name__
    if kind == "ViTModel":
        return model(torch.randn(2, 1, 8, 8))
    return model(tokens, tokens) if kind == "TransformerModel" else model(tokens)


def adapted(config: object, adapter: LoRA = LoRA(rank=3)) -> nn.Module:
    """A model with an adapter that changes its answers."""
    torch.manual_seed(1)
    model = config.build().eval()  # type: ignore[attr-defined]
    attach(model, adapter)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("adapter.up"):
                parameter.normal_()
    return model


@pytest.mark.parametrize("name", MODELS)
def test_merging_changes_no_output(name: str) -> None:
    torch.manual_seed(1)
    plain = MODELS[name].build().eval()
    model = adapted(MODELS[name])
    with torch.no_grad():
        before = answer(model)
        assert (before - answer(plain)).abs().max() > 1e-3
        merge(model)
        assert (answer(model) - before).abs().max() < 1e-5 * before.abs().max()
    assert model.state_dict().keys() == plain.state_dict().keys()


@pytest.mark.parametrize("name", MODELS)
def test_a_new_adapter_changes_nothing_and_alone_is_trained(name: str) -> None:
    torch.manual_seed(1)
    model = MODELS[name].build().eval()
    before = answer(model).detach()
    attach(model, LoRA(rank=2, dropout=0.5))
    assert torch.equal(answer(model), before)
    answer(model).square().sum().backward()
    trained = {name for name, parameter in model.named_parameters() if parameter.grad is not None}
    assert trained
    assert all(".adapter." in name for name in trained)


def test_it_is_the_formula_of_the_paper() -> None:
    model = adapted(GPT_SMALL, LoRA(rank=4, alpha=6.0, layers=("query",)))
    [*layers] = adapted_layers(model, ("query",)).values()
    assert len(layers) == 2
    layer, x = layers[0], torch.randn(7, 16)
    down, up = layer.adapter.down, layer.adapter.up
    wanted = x @ (layer.weight + 6 / 4 * up @ down).T + layer.bias
    assert (layer(x) - wanted).abs().max() < 1e-5
    assert all(layer.adapter is None for layer in adapted_layers(model, ("key", "value", "up")).values())


def test_what_is_frozen_is_neither_averaged_nor_optimised_nor_saved() -> None:
    model = adapted(GPT_SMALL)
    names = set(trained_state(model))
    assert names == {name for name in model.state_dict() if ".adapter." in name}
    assert set(EMA(model, 0.9).weights) == names
    for optimiser in (AdamW(), Muon()):
        parts = optimiser.build(model).parts
        chosen = [p for part, _ in parts for group in part.param_groups for p in group["params"]]
        assert len(chosen) == len(names)


@dataclass(frozen=True)
class ScaledRow(LoRA):
    """A kind of one's own: a vector that is added to every row of the weight."""

    def build(self, inputs: int, outputs: int) -> "Row":  # type: ignore[override]
        return Row(inputs, outputs)


class Row(LayerAdapter):
    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.row, self.outputs = nn.Parameter(torch.randn(inputs)), outputs

    def forward(self, x: Tensor) -> Tensor:
        return (x @ self.row)[..., None].expand(*x.shape[:-1], self.outputs)

    def delta(self) -> Tensor:
        return self.row.expand(self.outputs, -1)


def test_a_kind_of_ones_own_is_one_class_and_its_module() -> None:
    kind = from_dict(Adapter | None, to_dict(ScaledRow()), "adapter")
    assert isinstance(kind, ScaledRow)
    model = GPT_SMALL.build().eval()
    attach(model, kind)
    with torch.no_grad():
        before = answer(model)
        merge(model)
        assert (answer(model) - before).abs().max() < 1e-4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rank": 0}, "rank"),
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": float("inf")}, "alpha"),
        ({"dropout": 1.5}, "dropout"),
        ({"layers": ("querry",)}, f"layers: 'querry' is none of {', '.join(LAYERS)}"),
    ],
)
def test_settings_that_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        LoRA(**settings)  # type: ignore[arg-type]


def test_a_model_without_such_layers_is_refused() -> None:
    with pytest.raises(ConfigError, match="no block of this model has a layer named"):
        attach(RNN(vocab=20, width=8).build(), LoRA())
