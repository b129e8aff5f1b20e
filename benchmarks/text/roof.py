"""Decoding beside llama.cpp and CTranslate2 on the same random weights, and beside the memory bandwidth of the machine.

    python benchmarks/text/roof.py                        one sequence, a prompt, eight sequences, a beam of five
    python benchmarks/text/roof.py --json benchmarks/text/results/roof.json

The model has the shape of a Llama of 98 million parameters (12 layers of width 768, 8,192 tokens), the
translator that of an OPUS-MT model (`decoding.py`). Peers take turns (`peers.py`); who is not installed is left
out (pip install llama-cpp-python ctranslate2).
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from learning import machine
from peers import Peer, measure

from regard.core.files import write_text

PROMPT, NEW = 32, 96
LONG_PROMPT = 1024
ROWS = 8
SENTENCES, LONGEST = 64, 40  # translated together, words of each
SIZES = {"width": 768, "layers": 12, "heads": 12, "vocab": 8192}
HIDDEN = 2048
PARAMETERS = 12 * (4 * 768**2 + 3 * 768 * HIDDEN) + 8192 * 768  # those that a token is multiplied with
BYTES = {"float32": 4.0, "bfloat16": 2.0, "int8": 1.0, "int4": 0.5}


def main() -> None:
    options = _options()
    document: dict[str, Any] = {"machine": machine(), "rounds": options.rounds, "parameters": PARAMETERS}
    with tempfile.TemporaryDirectory() as folder:
        program = [sys.executable, str(Path(__file__).parent / "roof_peer.py")]
        subprocess.run([*program, "make", "-", folder], check=True)
        started = [Peer(pair.replace(":", " "), [*program, *pair.split(":"), folder]) for pair in options.peers]
        try:
            peers = [peer for peer in started if peer.works]
            for job in options.jobs:
                document[job] = report(job, measure(peers, job, options.rounds))
                print(job, json.dumps(document[job], indent=1), flush=True)
        finally:
            for peer in started:
                peer.end()
    if options.json:
        before = json.loads(options.json.read_text()) if options.json.exists() else {}
        write_text(options.json, json.dumps({**before, **document}, indent=1) + "\n")


def report(job: str, seconds: dict[str, float]) -> dict[str, Any]:
    if job == "stream":
        return {"bytes_a_second": max(2**28 / taken for taken in seconds.values())}
    tokens = {"one": NEW, "eight": ROWS * NEW, "beam": SENTENCES * LONGEST, "prompt": LONG_PROMPT, "step": 1}[job]
    return {
        name: {"seconds": round(taken, 4), "tokens_a_second": round(tokens / taken, 1)}
        for name, taken in seconds.items()
    }


PEERS = (
    "regard:float32", "regard:bfloat16", "regard:int8", "llama.cpp:float32", "llama.cpp:bfloat16", "llama.cpp:int8",
    "ctranslate2:float32", "ctranslate2:bfloat16", "ctranslate2:int8",
)  # fmt: skip


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", nargs="+", default=PEERS, help="kind:precision")
    parser.add_argument("--jobs", nargs="+", default=["stream", "one", "eight", "beam", "prompt"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
