"""Serving: tokens a second in all of streaming clients of `regard serve`, on this machine's loopback."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.request import Request

from regard.bench.measurement import Figure, Job, Measurement, median_seconds
from regard.bench.sizes import Sizes
from regard.bench.workplace import NO_PROXY, compile_for, llama, parameters_of
from regard.core.errors import UserError
from regard.core.extras import available, explain_missing
from regard.tasks import LanguageModel, save_run
from regard.text import Characters

WAIT = 120.0  # seconds for the server to start, and for an answer


def measure(sizes: Sizes, rounds: int, folder: Path) -> Measurement:
    if not available("serve"):
        return Measurement("serve", "not measured", (), (explain_missing("serve", "it"),))
    tokenizer = Characters().train(["".join(map(chr, range(0x21, 0x7F)))])
    config = llama(sizes.width, sizes.hidden, sizes.served_layers, sizes.vocab)
    compile_for(config, ("float32",), ("one", "several"))
    save_run(folder / "served", config, config.build(), LanguageModel(length=256), tokenizer)
    with serving(folder) as url:
        jobs: dict[int, Job] = {}
        for clients in (1, sizes.texts):
            jobs[clients] = partial(ask_together, url, clients, sizes.new_tokens, tokenizer.end)
        seconds = median_seconds(jobs, rounds)
    figures = (
        Figure(f"{clients} client{'s' * (clients > 1)}", clients * sizes.new_tokens / taken, "tokens/s")
        for clients, taken in seconds.items()
    )
    about = f"`regard serve`, Llama-shaped, {parameters_of(config) / 1e6:.1f} M random weights; tokens in all, streamed"
    return Measurement("serve", about, tuple(figures))


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a server in a process of its own, which ends with the block."""
    log = folder / "serve.log"
    with log.open("wb") as file:
        words = [sys.executable, "-m", "regard", "serve", str(folder / "served"), "--port", "0"]
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=file)
    try:
        yield wait_until_ready(process, log)
    finally:
        process.terminate()
        try:
            process.wait(30)
        finally:
            process.kill()


def wait_until_ready(process: "subprocess.Popen[bytes]", log: Path) -> str:
    deadline, url = time.monotonic() + WAIT, ""
    while process.poll() is None and time.monotonic() < deadline:
        address = re.search(r"at (http://\S+)/ ", log.read_text(encoding="utf-8"))
        url = address[1] if address else ""
        if url:
            with NO_PROXY.open(f"{url}/v1/models", timeout=WAIT) as answer:
                if json.load(answer)["data"][0]["state"] == "ready":
                    return url
        time.sleep(0.1)
    raise UserError(f"`regard serve` did not start: {log.read_text(encoding='utf-8')[-500:]}")


def ask_together(url: str, clients: int, tokens: int, end: int) -> None:
    with ThreadPoolExecutor(clients) as pool:
        for written in pool.map(partial(ask, url, tokens, end), range(clients)):
            if written != tokens:
                raise UserError(f"`regard serve` wrote {written} tokens, not {tokens}")


def ask(url: str, tokens: int, end: int, client: int) -> int:
    """Tokens of one streamed answer, as its last event counts them."""
    body = {
        "prompt": [5 + client], "max_tokens": tokens, "temperature": 0, "logit_bias": {str(end): -100},
        "stream": True, "stream_options": {"include_usage": True},
    }  # fmt: skip
    request = Request(f"{url}/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    written = 0
    with NO_PROXY.open(request, timeout=WAIT) as answer:
        for line in answer:
            if b'"completion_tokens"' in line:
                written = json.loads(line.removeprefix(b"data: "))["usage"]["completion_tokens"]
    return written
