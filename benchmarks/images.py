"""How well and how fast images are learned, with the commands that a user would type.

    python benchmarks/images.py --data DATA                                every job, seed 0
    python benchmarks/images.py --data DATA --jobs digits_60s --seeds 0 1 2
    python benchmarks/images.py --jobs throughput --rounds 9               images a second, beside torch's own encoder

DATA holds vision/fashion_mnist with the four idx files; the digits come with scikit-learn. A job trains with
`regard train image`, which holds out a tenth of the training images to choose weights by, and only then measures the
test images with `regard evaluate`. What that said is kept in benchmarks/images/results/JOB.json with the commands, the
seeds, the seconds and the machine. The shape of the digits' job was chosen by held-out images, but after a first look
at its test images (97.5 % with another shape); no other setting was chosen after one.

Throughput is that of whole training steps (forward, backward, AdamW) on images that are in memory, 128 at a time: ours
as training prepares it (compiled bfloat16), and `nn.TransformerEncoder` of the same width, layers, heads and hidden
size in eager float32, as it comes. They take turns in each round; the figure is the median of the rounds.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from text.learning import Job, keep, machine, run

RESULTS = Path(__file__).parent / "images" / "results"
FASHION = "{data}/vision/fashion_mnist"
JOBS = {
    "fashion_15min": Job(f"image --train {FASHION} --minutes 14 --processes 2", FASHION),
    "fashion_60min": Job(f"image --train {FASHION} --minutes 58 --processes 2 --data.augment.flip 0.5", FASHION),
    "digits_60s": Job(
        "image --train {runs}/digits.npz --minutes 0.8 --processes 2 --model.width 64 --model.layers 4 --model.heads 2",
        "{runs}/digits.npz",
    ),
}
BATCH = 128


def main() -> None:
    options = _options()
    for name in options.jobs:
        if name == "throughput":
            keep_throughput(throughput(options.rounds, options.steps))
            continue
        options.runs.mkdir(parents=True, exist_ok=True)
        write_digits(options.runs / "digits.npz")
        for seed in options.seeds:
            result = run(name, JOBS[name], seed, options.data, options.runs)
            print(json.dumps(result), flush=True)
            keep(name, JOBS[name], result, RESULTS)


def write_digits(path: Path) -> None:
    """A fifth of scikit-learn's digits to test by, each digit in its share."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    digits = load_digits()
    images = np.round(digits.images * 255 / 16).astype(np.uint8)
    halves = train_test_split(images, digits.target, test_size=0.2, random_state=0, stratify=digits.target)
    np.savez(path, **dict(zip(("x_train", "x_test", "y_train", "y_test"), halves, strict=True)))


def throughput(rounds: int, steps: int) -> dict[str, Any]:
    """Images a second in each round."""
    models = {"regard": ours(stem=False), "regard_recipe": ours(stem=True), "torch": theirs()}
    for step in models.values():  # compile, warm up
        step()
        step()
    speeds: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(rounds):
        for name, step in models.items():
            began = time.perf_counter()
            for _ in range(steps):
                step()
            speeds[name].append(BATCH * steps / (time.perf_counter() - began))
    return {"rounds": {name: [round(speed, 1) for speed in speed_of] for name, speed_of in speeds.items()}}


def ours(stem: bool) -> Callable[[], None]:
    """A step of the recipe's model, without its stem or with it."""
    from regard.core.machine import best_device
    from regard.parts import Mean, NoStem
    from regard.tasks.image.recipe import image_classifier
    from regard.train.precision import choose

    plan = image_classifier(("",), ())
    config = replace(plan.model, image=28, patch=4, channels=1, labels=10)  # type: ignore[type-var]
    config = config if stem else replace(config, stem=NoStem(), pool=Mean())
    model = config.build()
    precision = choose(plan.training, 0, None, fixed_shape=True, device=best_device())
    precision.prepare(model)
    return _step(model, precision.context)


def theirs() -> Callable[[], None]:
    import torch
    import torch.nn.functional as F
    from torch import Tensor, nn

    from regard.tasks.image.recipe import image_classifier

    shape = image_classifier(("",), ()).model

    class Encoder(nn.Module):
        """Patches, learned positions, the encoder, the mean, a label: as its users write it."""

        def __init__(self) -> None:
            super().__init__()
            width = shape.width
            layer = nn.TransformerEncoderLayer(
                width, shape.heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
            )
            self.patches, self.label = nn.Linear(16, width), nn.Linear(width, 10)
            self.places = nn.Parameter(torch.zeros(49, width))
            self.encoder = nn.TransformerEncoder(layer, shape.layers, nn.LayerNorm(width), enable_nested_tensor=False)

        def forward(self, images: Tensor) -> Tensor:
            patches = F.unfold(images, 4, stride=4).transpose(1, 2)
            return self.label(self.encoder(self.patches(patches) + self.places).mean(1))

    from contextlib import nullcontext

    return _step(Encoder(), nullcontext)


def _step(model: Any, context: Callable[[], Any]) -> Callable[[], None]:
    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    images, labels = torch.randn(BATCH, 1, 28, 28), torch.randint(10, (BATCH,))
    optimiser = torch.optim.AdamW(model.parameters(), fused=True)

    def step() -> None:
        with context():
            scores = model(images)
        F.cross_entropy(scores.float(), labels).backward()
        optimiser.step()
        optimiser.zero_grad()

    return step


def keep_throughput(measured: dict[str, Any]) -> None:
    middle = {name: statistics.median(speeds) for name, speeds in measured["rounds"].items()}
    ratios = {
        name: round(
            statistics.median(
                a / b for a, b in zip(measured["rounds"][name], measured["rounds"]["torch"], strict=True)
            ),
            3,
        )
        for name in middle
    }
    document = {"machine": machine(), "images_per_second": middle, "times_torch": ratios, **measured}
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "throughput.json").write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps({"images_per_second": middle, "times_torch": ratios}))


def _options() -> argparse.Namespace:
    jobs = [*JOBS, "throughput"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--jobs", nargs="+", choices=jobs, default=jobs, metavar="JOB")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--runs", type=Path, default=Path("runs/benchmarks"), help="where the runs go")
    parser.add_argument("--rounds", type=int, default=7, help="of the throughput")
    parser.add_argument("--steps", type=int, default=10, help="of each in a round")
    return parser.parse_args()


if __name__ == "__main__":
    main()
