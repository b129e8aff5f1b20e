"""Decoding beside llama.cpp and CTranslate2 on the same random weights, and beside the memory bandwidth of the machine.

    python benchmarks/text/roof.py                        one sequence, a prompt, eight sequences
    python benchmarks/text/roof.py --json benchmarks/text/results/roof.json

The model has the shape of a Llama of 98 million parameters: 12 layers of width 768, 8,192 tokens. Each peer is a
process of its own, stopped while it is not its turn, so that nobody's waiting threads take a core from another; peers
take turns within a round, and the figure is the median of the rounds. Peers that are not installed are left out
(pip install llama-cpp-python ctranslate2).
"""

import argparse
import json
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from learning import machine

from regard.core.files import write_text

PROMPT, NEW = 32, 96
LONG_PROMPT = 1024
ROWS = 8
SIZES = {"width": 768, "layers": 12, "heads": 12, "vocab": 8192}
HIDDEN = 2048
PARAMETERS = 12 * (4 * 768**2 + 3 * 768 * HIDDEN) + 8192 * 768  # those that a token is multiplied with
BYTES = {"float32": 4.0, "bfloat16": 2.0, "int8": 1.0, "int4": 0.5}


class Peer:
    """A process that does one of the jobs below whenever it is asked."""

    def __init__(self, kind: str, precision: str, folder: Path):
        self.name = f"{kind} {precision}"
        words = [sys.executable, str(Path(__file__).parent / "roof_peer.py"), kind, precision, str(folder)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.works = self._line() == "ready"
        self._pause()

    def seconds(self, job: str) -> float | None:
        self.process.send_signal(signal.SIGCONT)
        assert self.process.stdin is not None
        self.process.stdin.write(f"{job}\n")
        self.process.stdin.flush()
        answer = self._line()
        self._pause()
        return None if answer == "none" else float(answer)

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def _pause(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGSTOP)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def measure(peers: list[Peer], job: str, rounds: int) -> dict[str, float]:
    """Median seconds of each peer that can do the job."""
    seconds: dict[str, list[float]] = {}
    for number in range(rounds + 1):  # the first warms up
        for peer in peers:
            taken = peer.seconds(job)
            if taken is not None and number:
                seconds.setdefault(peer.name, []).append(taken)
    return {name: statistics.median(each) for name, each in seconds.items()}


def main() -> None:
    options = _options()
    document: dict[str, Any] = {"machine": machine(), "rounds": options.rounds, "parameters": PARAMETERS}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, str(Path(__file__).parent / "roof_peer.py"), "make", "-", folder], check=True)
        started = [Peer(*pair.split(":"), Path(folder)) for pair in options.peers]
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
    tokens = {"one": NEW, "eight": ROWS * NEW, "prompt": LONG_PROMPT, "step": 1}[job]
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
    parser.add_argument("--jobs", nargs="+", default=["stream", "one", "eight", "prompt"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
