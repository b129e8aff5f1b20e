"""A training step beside nanoGPT's: six layers of width 384, sixteen windows of 256 characters, compiled.

    python benchmarks/text/training.py
    python benchmarks/text/training.py --json benchmarks/text/results/training.json

The peer is written here in plain PyTorch after nanoGPT: learned positions, LayerNorm, GELU, one matrix for query, key
and value, scaled_dot_product_attention, AdamW, gradients clipped, the whole model compiled. regard trains once with the
same parts and once with those of its recipe, Muon among them; its own loop runs, and is held between batches while it
is another's turn. Dropout is off everywhere. Peers take turns (`peers.py`); the figure is the median of the rounds.
"""

import argparse
import json
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from learning import machine
from peers import Job, Peer, answer, measure

from regard.core.files import write_text

LAYERS, WIDTH, HEADS = 6, 384, 6
ROWS, LENGTH, VOCAB = 16, 256, 65
STEPS = 8  # of a job
PRECISIONS = ("float32", "bfloat16")
KINDS = ("nanoGPT", "equal parts", "recipe")


def main() -> None:
    options = _options()
    if options.peer:
        kind, precision = options.peer
        make = (
            (lambda: {"steps": nanogpt(precision)}) if kind == "nanoGPT" else (lambda: {"steps": ours(kind, precision)})
        )
        answer(f"{kind} {precision}", make)
        return
    started = []
    try:
        for kind in KINDS:
            for precision in options.precisions:
                command = [sys.executable, __file__, "--peer", kind, precision]
                started.append(Peer(f"{kind}, {precision}", command))
        seconds = measure([peer for peer in started if peer.works], "steps", options.rounds)
    finally:
        for peer in started:
            peer.end()
    best = min(taken for name, taken in seconds.items() if name.startswith("nanoGPT"))
    rows = {
        name: {"seconds_a_step": round(taken / STEPS, 4), "times_the_faster_nanoGPT": round(best / taken, 3)}
        for name, taken in seconds.items()
    }
    document = {"machine": machine(), "rounds": options.rounds, "steps": rows}
    print(json.dumps(document, indent=1))
    if options.json:
        write_text(options.json, json.dumps(document, indent=1) + "\n")


def nanogpt(precision: str) -> Job:
    import torch
    from torch import Tensor, nn
    from torch.nn import functional as F

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first_norm, self.second_norm = nn.LayerNorm(WIDTH, bias=False), nn.LayerNorm(WIDTH, bias=False)
            self.attend, self.project = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
            self.widen, self.narrow = nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.Linear(4 * WIDTH, WIDTH, bias=False)

        def forward(self, x: Tensor) -> Tensor:
            parts = self.attend(self.first_norm(x)).split(WIDTH, 2)
            q, k, v = (part.view(*part.shape[:2], HEADS, -1).transpose(1, 2) for part in parts)
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.project(mixed.transpose(1, 2).reshape(x.shape))
            return x + self.narrow(F.gelu(self.widen(self.second_norm(x))))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(VOCAB, WIDTH), nn.Embedding(LENGTH, WIDTH)
            self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
            self.norm, self.head = nn.LayerNorm(WIDTH, bias=False), nn.Linear(WIDTH, VOCAB, bias=False)
            self.words.weight = self.head.weight

        def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
            x = self.blocks(self.words(tokens) + self.places.weight[: tokens.shape[1]])
            return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), targets.flatten())

    torch.manual_seed(0)
    model = Model()
    nn.init.normal_(model.words.weight, std=0.02)
    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99))
    compiled: Callable[..., Tensor] = torch.compile(model)
    text = torch.randint(VOCAB, (2**20,))

    def steps() -> None:
        for _ in range(STEPS):
            starts = torch.randint(len(text) - LENGTH, (ROWS,)).tolist()
            tokens = torch.stack([text[start : start + LENGTH] for start in starts])
            targets = torch.stack([text[start + 1 : start + 1 + LENGTH] for start in starts])
            with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
                loss = compiled(tokens, targets)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)

    return steps


class Paced:
    """Batches that the training loop gets only while a job runs."""

    def __init__(self, data: Any):
        self.data, self.begin, self.ended = data, threading.Semaphore(0), threading.Semaphore(0)
        self.paced, self.steps_per_epoch, self.fixed_shape = False, data.steps_per_epoch, data.fixed_shape

    def batch(self, step: int) -> Any:
        if self.paced and step % STEPS == 0:
            if step:
                self.ended.release()
            self.begin.acquire()
        return self.data.batch(step)

    def job(self) -> None:
        self.begin.release()
        self.ended.acquire()


def ours(kind: str, precision: str) -> Job:
    import numpy as np

    from regard.data.text.windows import Windows
    from regard.models import GPT
    from regard.parts import GELU, LayerNorm, Learned
    from regard.tasks import LanguageModel
    from regard.tasks.lm.recipe import language_model
    from regard.train import AdamW
    from regard.train.keeper import MemoryKeeper
    from regard.train.loop import Loop

    plan = language_model(("synthetic",))
    settings: dict[str, Any] = {"minutes": None, "steps": 10**6, "eval_every": 10**6, "batch_size": ROWS}
    settings |= {"compile": "always", "precision": precision, "checkpoint_minutes": 10**6}
    if kind == "recipe":
        config = replace(plan.model, vocab=VOCAB, width=WIDTH, layers=LAYERS, heads=HEADS, dropout=0.0)
    else:
        config = GPT(
            vocab=VOCAB, width=WIDTH, layers=LAYERS, heads=HEADS, position=Learned(LENGTH), norm=LayerNorm(bias=False),
            feed=GELU(), bias=False, dropout=0.0,
        )  # fmt: skip
        settings |= {"optimiser": AdamW(lr=1e-3, weight_decay=0.1, beta2=0.99), "grad_clip": 1.0}
    tokens = np.random.default_rng(0).integers(5, VOCAB, size=2**20)
    data = Paced(Windows(tokens, LENGTH, ROWS))
    training = replace(plan.training, **settings)
    loop = Loop(config.build(), LanguageModel(length=LENGTH), data, training, MemoryKeeper())  # type: ignore[arg-type]
    data.paced = True
    threading.Thread(target=loop.run, daemon=True).start()
    return data.job


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=list(PRECISIONS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--peer", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
