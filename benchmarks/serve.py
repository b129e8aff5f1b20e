"""The server under load: python benchmarks/serve.py

A language model with random weights is served by `regard serve` on this machine, and asked by clients of OpenAI's
library.

- `streams`: eight clients that stream beside one, in turns: tokens a second in all, the median of the rounds.
- `crowd`: 200 clients at once on a queue of 16: how many are answered, how many are refused with 429, and the longest
  time of an answer. Nobody may be lost.
- `memory`: resident memory of the server and its worker after each of many rounds of requests.

All traffic stays on this machine. The results are kept in results/serve.json.
"""

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import openai
from text.learning import machine

RESULT = Path(__file__).parent / "results" / "serve.json"
SHAPES = {
    "small": {"width": 384, "layers": 6, "heads": 6},  # as our tinyshakespeare model
    "llama": {"width": 768, "layers": 12, "heads": 12},  # 98 M parameters with a vocabulary of 8,192
}
PARTS = ("streams", "crowd", "memory")
PROMPT_TOKENS, WAIT = 32, 600.0
CROWD, QUEUE = 200, 16


def main() -> None:
    options = _options()
    known = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    results: dict[str, Any] = {"machine": machine(), "model": options.shape, "tokens": options.tokens}
    results = {**known.get(options.shape, {}), **results}
    with tempfile.TemporaryDirectory() as folder:
        vocab = save_model(Path(folder) / "model", options.shape)
        with Server(Path(folder)) as server:
            parts = {
                "streams": lambda: streams(server, vocab, options.tokens, options.rounds),
                "crowd": lambda: crowd(server, vocab),
                "memory": lambda: memory(server, vocab, options.minutes, options.pause),
            }
            for name in options.only:
                results[name] = asyncio.run(parts[name]())
                print(json.dumps({name: results[name]}))
    RESULT.write_text(json.dumps({**known, options.shape: results}, indent=1) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default="small")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="of these (all)")
    parser.add_argument("--tokens", type=int, default=96, help="written in each answer")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=2.0, help="of requests, while memory is watched")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between rounds of them")
    return parser.parse_args()


def save_model(path: Path, shape: str) -> int:
    """A model in the shape of Llama, with random weights; gives the size of its vocabulary."""
    import torch

    from regard.models import GPT
    from regard.parts import RMSNorm, Rotary, SwiGLU
    from regard.tasks import LanguageModel, save_run
    from regard.text import Characters

    tokenizer = Characters().train([" ".join(chr(place) for place in range(0x21, 0x7F))])
    vocab = 8192 if shape == "llama" else tokenizer.vocab
    torch.manual_seed(0)
    config = GPT(
        vocab=vocab, **SHAPES[shape], norm=RMSNorm(), feed=SwiGLU(), position=Rotary(), bias=False, dropout=0.0
    )
    save_run(path, config, config.build(), LanguageModel(), tokenizer)
    return tokenizer.vocab


class Server:
    """`regard serve` in a process of its own."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __enter__(self) -> "Server":
        words = [sys.executable, "-m", "regard", "serve", self.folder / "model", "--port", "0", "--queue", str(QUEUE)]
        log = self.folder / "log"
        with log.open("w") as file:
            self.process = subprocess.Popen(words, stderr=file)
        deadline = time.monotonic() + WAIT
        while not (address := re.search(r"at (http://\S+)/ ", log.read_text())):
            assert time.monotonic() < deadline, log.read_text()
            assert self.process.poll() is None, log.read_text()
            time.sleep(0.1)
        self.url = address[1]
        with openai.OpenAI(base_url=f"{self.url}/v1", api_key="none", max_retries=0) as client:
            while next(iter(client.models.list())).model_extra["state"] != "ready":
                assert time.monotonic() < deadline
                time.sleep(0.2)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        assert self.process.wait(60) == 0

    def client(self) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(base_url=f"{self.url}/v1", api_key="none", max_retries=0, timeout=WAIT)

    def megabytes(self) -> dict[str, int]:
        """Resident memory of the server and of the processes that it has started."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        sizes = [_resident(int(child)) for child in children]
        return {"server": _resident(self.process.pid), "worker": max(sizes)}


def _resident(process: int) -> int:
    fields = Path(f"/proc/{process}/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20


def prompt(vocab: int, seed: int) -> list[int]:
    return [5 + (seed * 7919 + place * 104729) % (vocab - 5) for place in range(PROMPT_TOKENS)]


async def stream(client: openai.AsyncOpenAI, vocab: int, seed: int, tokens: int) -> int:
    """Tokens of one streamed answer; no token ends it early."""
    ask = {"model": "model", "prompt": prompt(vocab, seed), "max_tokens": tokens, "temperature": 1.0, "seed": seed}
    options = {"stream": True, "stream_options": {"include_usage": True}, "logit_bias": {"2": -100}}
    written = 0
    async for chunk in await client.completions.create(**ask, **options):
        written = chunk.usage.completion_tokens if chunk.usage else written
    return written


async def streams(server: Server, vocab: int, tokens: int, rounds: int) -> dict[str, Any]:
    speeds: dict[int, list[float]] = {1: [], 8: []}
    async with server.client() as client:
        await stream(client, vocab, 10**6, 8)
        for number in range(rounds):
            for clients, measured in speeds.items():
                start = time.perf_counter()
                some = (stream(client, vocab, 100 * number + 10 * clients + one, tokens) for one in range(clients))
                written = await asyncio.gather(*some)
                measured.append(sum(written) / (time.perf_counter() - start))
    one, eight = (statistics.median(speeds[clients]) for clients in (1, 8))
    return {"one_client": round(one, 1), "eight_clients": round(eight, 1), "ratio": round(eight / one, 2)}


async def crowd(server: Server, vocab: int) -> dict[str, Any]:
    async def ask(client: openai.AsyncOpenAI, seed: int) -> tuple[str, float]:
        start = time.perf_counter()
        try:
            await stream(client, vocab, seed, 32)
            kind = "answered"
        except openai.RateLimitError as error:
            kind = "refused" if error.response.headers.get("retry-after") else "refused without Retry-After"
        except openai.OpenAIError as error:
            kind = f"lost ({type(error).__name__})"
        return kind, time.perf_counter() - start

    async with server.client() as client:
        results = await asyncio.gather(*(ask(client, 10**7 + seed) for seed in range(CROWD)))
    counts: dict[str, Any] = {}
    for kind, _ in results:
        counts[kind] = counts.get(kind, 0) + 1
    return {**counts, "slowest_answer_seconds": round(max(t for kind, t in results if kind == "answered"), 2)}


async def memory(server: Server, vocab: int, minutes: float, pause: float) -> dict[str, Any]:
    """Rounds of requests of different lengths; a third of the clients leave early."""
    seen, end, number = [], time.monotonic() + 60 * minutes, 0
    async with server.client() as client:
        while time.monotonic() < end:
            number += 1
            tasks = [asyncio.ensure_future(stream(client, vocab, 24 * number + one, 4 + 5 * one)) for one in range(16)]
            await asyncio.sleep(0.2)
            for task in tasks[::3]:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            seen.append(server.megabytes())
            await asyncio.sleep(pause)
    quarter = seen[len(seen) // 4]
    return {"minutes": minutes, "rounds": number, "after_a_quarter": quarter, "at_the_end": seen[-1]}


if __name__ == "__main__":
    main()
