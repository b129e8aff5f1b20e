"""Peak memory of fine-tuning a model of GPT-2's size (124 M parameters) as a whole, and with a LoRA adapter.

    python benchmarks/adapter_memory.py

Each training is a process of its own, `regard train lm --init`, for a few steps of one short window, so that weights,
gradients and optimiser state are measured rather than activations; `program` is what libraries take before a model is
built. Needs 5 GB of memory and takes some minutes. The result is kept in results/adapter_memory.json.
"""

import argparse
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

RESULT = Path(__file__).parent / "results" / "adapter_memory.json"
SIZES = {"width": 768, "layers": 12, "heads": 12, "vocab": 50257}
POSITIONS, STEPS = 1024, 3
LORA = ["--adapter", "LoRA", "--adapter.rank", "8"]


def make_base(folder: Path) -> int:
    """A GPT-2 with random weights in a Hugging Face folder; gives its number of parameters."""
    from regard.interop.huggingface import write
    from regard.models import GPT
    from regard.parts import GELU, LayerNorm, Learned
    from regard.text import Bytes

    config = GPT(position=Learned(POSITIONS), norm=LayerNorm(), feed=GELU(), **SIZES)
    model, tokenizer = config.build(), folder.with_name("tokenizer.json")
    Bytes().train([]).save(tokenizer)
    write(config, model, folder, tokenizer)
    return sum(parameter.numel() for parameter in model.parameters())


def peak(base: Path, corpus: Path, out: Path, *more: str) -> int:
    """The peak memory in bytes of a training in a process of its own."""
    words = ["--data", str(corpus), "--init", str(base), "--out", str(out), "--steps", str(STEPS)]
    sizes = ["--training.batch_size", "1", "--data.length", "64", "--training.compile", "never"]
    child = subprocess.Popen(
        [sys.executable, "-m", "regard", "train", "lm", *words, *sizes, *more], stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(words)}: failed")
    return usage.ru_maxrss * 1024


def measure(base: Path, corpus: Path, precision: str) -> dict[str, float]:
    """Peak memory of both ways of training in this precision."""
    words, out = ["--training.precision", precision], base.with_name(f"out-{precision}")
    whole, lora = (peak(base, corpus, Path(f"{out}-{len(how)}"), *words, *how) for how in ([], LORA))
    return {"whole_bytes": whole, "lora_bytes": lora, "lora_share": round(lora / whole, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, help=argparse.SUPPRESS)  # make the model there, in a process of its own
    options = parser.parse_args()
    if options.base is not None:
        print(make_base(options.base))
        return
    with TemporaryDirectory() as place:
        base, corpus, rng = Path(place) / "base", Path(place) / "corpus.txt", random.Random(0)
        corpus.write_text(" ".join(rng.choice(["two", "dogs", "play", "snow"]) for _ in range(2000)))
        # A process starts with the peak of the one that made it, so this one must stay small.
        made = subprocess.run(
            [sys.executable, __file__, "--base", str(base)], capture_output=True, check=True, text=True
        )
        result: dict[str, Any] = {"parameters": int(made.stdout), "steps": STEPS}
        result["program_bytes"] = peak(base, corpus, Path(place) / "none", "--show-settings")
        result |= {precision: measure(base, corpus, precision) for precision in ("float32", "bfloat16")}
    print(json.dumps(result, indent=1))
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
