"""The same decoding by other libraries: transformers, and llama.cpp through either of its packages."""

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import Request

import torch

from regard.bench.measurement import Job, Peer
from regard.bench.sizes import Sizes
from regard.bench.workplace import NO_PROXY
from regard.core.extras import importable, require
from regard.models import GPT

Key = tuple[int, str]  # texts, precision
FILES = {"float32": "float32", "bfloat16": "bfloat16", "int8": "q8_0"}  # precisions as GGUF calls them


def prompts(texts: int, sizes: Sizes) -> list[list[int]]:
    """Texts of one token each: what is measured is writing."""
    return [[5 + 97 * text % (sizes.vocab - 5)] for text in range(texts)]


def transformers_jobs(config: GPT, sizes: Sizes, folder: Path) -> dict[Key, Job]:
    import transformers

    transformers.utils.logging.set_verbosity_error()
    heads, length = config.heads, 1 + sizes.new_tokens
    shape = transformers.LlamaConfig(
        vocab_size=config.vocab, hidden_size=config.width, intermediate_size=sizes.hidden, num_attention_heads=heads,
        num_hidden_layers=config.layers, max_position_embeddings=length, eos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    jobs: dict[Key, Job] = {}
    for precision in (torch.float32, torch.bfloat16):
        model: Any = transformers.LlamaForCausalLM(shape).eval()
        model.to(precision)
        for texts in (1, sizes.texts):
            ids = torch.tensor(prompts(texts, sizes))
            jobs[texts, str(precision).removeprefix("torch.")] = partial(
                model.generate, input_ids=ids, attention_mask=torch.ones_like(ids), do_sample=False,
                min_new_tokens=sizes.new_tokens, max_new_tokens=sizes.new_tokens,
            )  # fmt: skip
    return jobs


def llama_cpp_jobs(config: GPT, sizes: Sizes, folder: Path) -> dict[Key, Job]:
    require("gguf", "a model for llama.cpp")
    make = _served if importable("xllamacpp") else _in_process
    jobs: dict[Key, Job] = {}
    for precision, file in _gguf_files(config, folder).items():
        jobs |= {(texts, precision): job for texts, job in make(file, sizes).items()}
    return jobs


def _gguf_files(config: GPT, folder: Path) -> dict[str, Path]:
    from regard.export import GGUF, export
    from regard.tasks import LanguageModel, load_run, save_run
    from regard.text import BPE

    tokenizer = BPE(vocab=300).train(["a text of few words"])
    save_run(folder / "llama", config, config.build(), LanguageModel(length=256), tokenizer)
    run = load_run(folder / "llama")
    files = {precision: folder / f"{precision}.gguf" for precision in FILES}
    for precision, file in files.items():
        export(run, GGUF(dtype=FILES[precision]), file)  # type: ignore[arg-type]
    return files


def _in_process(file: Path, sizes: Sizes) -> dict[int, Job]:
    """llama-cpp-python: one text at a time."""
    from llama_cpp import Llama

    threads = torch.get_num_threads()
    model = Llama(str(file), n_ctx=256, n_threads=threads, n_threads_batch=threads, verbose=False)

    def one() -> None:
        written = model.generate(prompts(1, sizes)[0], top_k=1, temp=0.0, repeat_penalty=1.0)
        for _ in zip(range(sizes.new_tokens), written, strict=False):
            pass

    return {1: one}


def _served(file: Path, sizes: Sizes) -> dict[int, Job]:
    """xllamacpp: llama.cpp's own server, which writes several texts at once."""
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path, settings.n_parallel, settings.n_ctx = str(file), sizes.texts, 256 * sizes.texts
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = torch.get_num_threads()
    settings.verbosity = -1
    server = xllamacpp.Server(settings)
    options = {"n_predict": sizes.new_tokens, "temperature": 0, "samplers": ["temperature"], "ignore_eos": True}

    def ask(prompt: list[int]) -> None:
        body = json.dumps({"prompt": prompt, "cache_prompt": False, **options}).encode()
        request = Request(f"{server.listening_address}/completion", body, {"Content-Type": "application/json"})
        with NO_PROXY.open(request, timeout=600) as answer:
            written = json.load(answer)["tokens_predicted"]
        if written != sizes.new_tokens:
            raise RuntimeError(f"llama.cpp wrote {written} tokens, not {sizes.new_tokens}")

    def write(texts: int) -> None:
        with ThreadPoolExecutor(texts) as clients:
            list(clients.map(ask, prompts(texts, sizes)))

    return {texts: partial(write, texts) for texts in (1, sizes.texts)}


PEERS = {
    "transformers": Peer(("transformers",), transformers_jobs),
    "llama.cpp": Peer(("xllamacpp", "llama_cpp"), llama_cpp_jobs),
}
