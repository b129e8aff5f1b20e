"""Peak memory of fine-tuning a model of GPT-2's size (124 M parameters) as a whole, and with a LoRA adapter.

    python benchmarks/adapter_memory.py

Each training is a process of its own, `regard train lm --init`, for a few steps of one short window, so that weights,
gradients and optimiser state are measured rather than activations. Needs 5 GB of memory and takes some
minutes. The result is kept in results/adapter_memory.json.
"""

import argparse
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

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
    command = [
        sys.executable,
        "-m",
        "regard",
        "train",
        "lm",
        "--data",
        str(corpus),
        "--init",
        str(base),
        "--out",
        str(out),
    ]
    steps = ["--steps", str(STEPS), "--training.batch_size", "1", "--data.length", "64", "--training.compile", "never"]
    child = subprocess.Popen([*command, *steps, *more], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)}: failed")
    return usage.ru_maxrss * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    with TemporaryDirectory() as place:
        folder, rng = Path(place), random.Random(0)
        (folder / "corpus.txt").write_text(" ".join(rng.choice(["two", "dogs", "play", "snow"]) for _ in range(2000)))
        parameters = make_base(folder / "base")
        whole = peak(folder / "base", folder / "corpus.txt", folder / "whole")
        adapter = peak(folder / "base", folder / "corpus.txt", folder / "adapter", *LORA)
    result = {"parameters": parameters, "steps": STEPS, "whole_bytes": whole, "lora_bytes": adapter}
    result["lora_share"] = round(adapter / whole, 3)
    print(json.dumps(result, indent=1))
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
