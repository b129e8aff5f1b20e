"""Draw the pictures of the mechanism pages from the parts and the measurements: python docs/draw.py

They are written to docs/pictures/mechanisms, from measured.json and the results of the benchmarks.
"""

import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes

from regard.parts import (
    BigBird,
    Causal,
    Full,
    Linformer,
    MultiHead,
    Nearby,
    Padding,
    Positions,
    Prefix,
    Rotary,
    SameDocument,
    Window,
    listen,
)
from regard.parts.positions.sinusoid import waves

DOCS = Path(__file__).parent
OUT = DOCS / "pictures" / "mechanisms"
MEASURED = json.loads((DOCS / "measured.json").read_text())
RESULTS = DOCS.parent / "benchmarks"


def attention() -> None:
    """One lookup: three keys, and a query that is most similar to the second."""
    keys = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    values = torch.tensor([[1.0], [3.0], [5.0]])
    query = torch.tensor([[1.6, 2.4]])
    output, pattern = Full(scale=1.0).build(1, 2).watch(query[None, None], keys[None, None], values[None, None])
    _, axes = plt.subplots(1, 3, figsize=(8, 2.6), layout="constrained")
    heights = {
        "scores: query · key": (query @ keys.T)[0].tolist(),
        "weights: softmax": pattern[0, 0, 0].tolist(),
        "values": values[:, 0].tolist(),
    }
    for place, (title, bars) in zip(axes, heights.items(), strict=True):
        place.bar(["key 1", "key 2", "key 3"], bars, color="tab:blue")
        place.set_title(title, fontsize=10)
    axes[2].axhline(output.item(), color="tab:orange")
    axes[2].text(-0.4, output.item() + 0.12, f"result: {output.item():.2f}", color="tab:orange")
    save("attention")


def transformer() -> None:
    """Which token may attend to which in the three architectures: five tokens per text, source first."""
    places = torch.arange(5)
    back = Causal().at(places[:, None], places[None, :])[0].float()
    both_ways, never = torch.ones(5, 5), torch.zeros(5, 5)
    pair = torch.cat([torch.cat([both_ways, never], 1), torch.cat([both_ways, back], 1)])
    _, axes = plt.subplots(1, 3, figsize=(8, 3), layout="constrained")
    named = {"encoder": both_ways, "decoder": back, "encoder–decoder": pair}
    for place, (title, seen) in zip(axes, named.items(), strict=True):
        square(place, seen, title)
        place.set_aspect("equal")
    axes[0].set_ylabel("query")
    axes[0].set_xlabel("key")
    axes[2].set(xticks=[2, 7], xticklabels=["source", "target"], yticks=[2, 7], yticklabels=["source", "target"])
    axes[2].tick_params(axis="y", rotation=90)
    axes[2].axhline(4.5, color="white")
    axes[2].axvline(4.5, color="white")
    save("transformer")


def scale() -> None:
    axes = one()
    lines(axes, MEASURED["scale"], "size")
    axes.set(xscale="log", xlabel="head size", ylabel="largest of 256 weights (mean)", ylim=(0, 1))
    save("scale")


def masks() -> None:
    places = torch.arange(12)
    rules = {
        "Causal()": Causal(),
        "Padding(valid)": Padding((places < 9)[None]),
        "Causal() & Padding(valid)": Causal() & Padding((places < 9)[None]),
        "Causal() | Prefix(4)": Causal() | Prefix(torch.tensor([4])),
        "Causal() & SameDocument(segment)": Causal() & SameDocument((places // 4)[None]),
        "Nearby(3)": Nearby(3),
    }
    _, axes = plt.subplots(2, 3, figsize=(8, 5.2), layout="constrained")
    for place, (name, rule) in zip(axes.flat, rules.items(), strict=True):
        square(place, rule.at(places[:, None], places[None, :]).expand(1, 12, 12)[0].float(), name)
    save("masks")


def heads() -> None:
    """Four heads of one layer with random weights attend differently."""
    layer = MultiHead(64, 4)
    with listen(layer) as heard:
        layer(3 * torch.randn(1, 12, 64))
    _, axes = plt.subplots(1, 4, figsize=(8, 2.4), layout="constrained")
    for number, place in enumerate(axes):
        square(place, heard["pattern"][0, number], f"head {number}")
    save("heads")


def positions() -> None:
    _, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    code = waves(torch.arange(64), 64, 10000.0)
    left.imshow(code, cmap="viridis", aspect="auto")
    left.set(title="Sinusoid: the vector of each position", xlabel="dimension", ylabel="position")
    turned = Rotary().build(64, 1, 64, causal=True).turn(torch.ones(1, 1, 64, 64), Positions.counting(64))
    right.plot((turned @ turned[0, 0, 0])[0, 0] / 64)
    right.set(title="Rotary: score of equal vectors", xlabel="distance", ylabel="relative dot product")
    save("positions")


def residuals() -> None:
    axes = one()
    lines(axes, MEASURED["residuals"], "depth")
    axes.set(xscale="log", xlabel="blocks", ylabel="cosine similarity of tokens", ylim=(0, 1.05))
    save("residuals")


def norms() -> None:
    axes = one()
    lines(axes, MEASURED["norms"], "depth")
    axes.set(xscale="log", yscale="log", xlabel="blocks", ylabel="RMS of the residual stream")
    save("norms")


def feed() -> None:
    """The activation functions."""
    from regard.parts import GELU, ReLU, SiLU, SquaredReLU

    axes, x = one(), torch.linspace(-3, 2.2, 100)
    for kind in (ReLU(), GELU(), SiLU(), SquaredReLU()):
        axes.plot(x, kind.activation(x), label=type(kind).__name__)
    axes.set(xlabel="input", ylabel="output")
    axes.legend(frameon=False)
    save("feed-forward")


def cost() -> None:
    rows = json.loads((RESULTS / "results" / "attention.json").read_text())["rows"]
    _, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
    for kind in dict.fromkeys(row["attention"] for row in rows):
        own = [row for row in rows if row["attention"] == kind]
        lengths = [row["length"] for row in own]
        axes[0].plot(lengths, [row["seconds"] for row in own], marker=".", label=kind)
        axes[1].plot(lengths, [row["peak_bytes"] / 1e6 for row in own], marker=".", label=kind)
    for place, label in zip(axes, ("seconds", "megabytes"), strict=True):
        place.set(xscale="log", yscale="log", xlabel="tokens", ylabel=label)
        place.grid(alpha=0.3)
    axes[0].legend(frameon=False)
    save("cost")


def rnn() -> None:
    found = json.loads((RESULTS / "text" / "results" / "lengths.json").read_text())
    axes = one()
    words = [part["words"] for part in found["parts"]]
    for name, scores in found["bleu_lower"].items():
        axes.plot(words, scores, marker=".", label=name)
    axes.set(xlabel="words per sentence (mean of each quintile)", ylabel="BLEU, lower-cased", ylim=(0, None))
    axes.legend(frameon=False)
    save("rnn")


def sparse() -> None:
    """The keys, or for Linformer the slots, that each of 64 queries attends to."""
    q, k, v = torch.randn(3, 1, 1, 64, 16)
    kinds = {
        "Full": Full(),
        "Window(reach=8)": Window(reach=8),
        "BigBird(block=4)": BigBird(block=4, random=1),
        "Linformer(slots=12)": Linformer(slots=12, length=64),
    }
    _, axes = plt.subplots(1, 4, figsize=(9, 2.8), layout="constrained")
    for place, (name, kind) in zip(axes, kinds.items(), strict=True):
        pattern = kind.build(1, 16).watch(q, k, v)[1][0, 0]
        square(place, (pattern > 0).float(), name)
        place.set_aspect("equal")
        place.set_xlabel("slot" if "Linformer" in name else "key")
    axes[0].set_ylabel("query")
    save("sparse")


def experts() -> None:
    axes, found = one(), MEASURED["experts"]
    places = torch.arange(8)
    axes.bar(places - 0.2, found["first"], 0.4, label="at the start")
    axes.bar(places + 0.2, found["last"], 0.4, label="after 300 batches")
    axes.axhline(1 / 8, color="grey", linewidth=0.8)
    axes.set(xlabel="expert", ylabel="share of tokens", ylim=(0, 0.35))
    axes.legend(frameon=False)
    save("experts")


def one() -> Axes:
    _, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
    axes.grid(alpha=0.3)
    return axes


def lines(axes: Axes, found: dict[str, Any], along: str) -> None:
    for name, values in found.items():
        if name != along:
            axes.plot(found[along], values, marker=".", label=name)
    axes.legend(frameon=False)


def square(axes: Axes, pattern: torch.Tensor, title: str) -> None:
    axes.imshow(pattern.detach(), cmap="viridis", vmin=0, aspect="auto")
    axes.set_title(title, fontsize=9)
    axes.set(xticks=[], yticks=[])


def save(name: str) -> None:
    plt.savefig(OUT / f"{name}.png", dpi=110)
    plt.close()


PICTURES = (attention, transformer, scale, masks, heads, positions, residuals, norms, feed, cost, rnn, sparse, experts)


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    for draw in PICTURES:
        torch.manual_seed(0)
        draw()
