"""Decoding: tokens a second of a Llama-shaped model with random weights, and its share of the memory bandwidth."""

from pathlib import Path

import torch

from regard.bench.decode_peers import PEERS, Key, prompts
from regard.bench.machine import memory_read
from regard.bench.measurement import Figure, Job, Measurement, median_seconds, peer_jobs
from regard.bench.sizes import Sizes
from regard.bench.workplace import compile_for, llama, parameters_of
from regard.decode import accelerate, write
from regard.models import GPT

BYTES = {"float32": 4, "bfloat16": 2, "int8": 1}  # of a weight
READ = "memory"


def measure(sizes: Sizes, rounds: int, folder: Path) -> Measurement:
    config = llama(sizes.width, sizes.hidden, sizes.layers, sizes.vocab)
    compiled = compile_for(config, tuple(BYTES))
    ours = regard_jobs(config, sizes)
    theirs, notes = peer_jobs(PEERS, config, sizes, folder)
    seconds = median_seconds({READ: memory_read(sizes), **ours, **theirs}, rounds)
    bandwidth, parameters = sizes.stream_bytes / seconds[READ], parameters_of(config)
    figures = []
    for texts, precision in ours:
        tokens = texts * sizes.new_tokens
        peers = {name: tokens / seconds[key, name] for key, name in theirs if key == (texts, precision)}
        taken = seconds[texts, precision]
        weights = (parameters - sizes.vocab * sizes.width) * BYTES[precision]  # of the embedding, a token reads a row
        memory = weights * sizes.new_tokens / taken / bandwidth
        what = f"{texts} text{'s' * (texts > 1)}, {precision}"
        figures.append(Figure(what, tokens / taken, "tokens/s", peers, memory))
    about = (
        f"Llama-shaped, {parameters / 1e6:.1f} M random weights, {sizes.new_tokens} tokens after each text, "
        f"{'compiled' if compiled else 'not compiled'}"
    )
    return Measurement("decode", about, tuple(figures), notes)


def regard_jobs(config: GPT, sizes: Sizes) -> dict[Key, Job]:
    jobs: dict[Key, Job] = {}
    for precision in BYTES:
        model = config.build().eval()
        accelerate(model, precision)
        for texts in (1, sizes.texts):

            def job(model=model, texts=texts):  # type: ignore[no-untyped-def]
                state = model.init_state(1 + sizes.new_tokens)
                write(model, state, torch.tensor(prompts(texts, sizes)), None, sizes.new_tokens)

            jobs[texts, precision] = job
    return dict(sorted(jobs.items(), key=lambda one: one[0][0]))
