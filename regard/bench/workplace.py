"""A temporary folder for everything that a benchmark writes, compiled code included; nothing of it stays."""

import itertools
import os
import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import current_thread, main_thread
from urllib.request import ProxyHandler, build_opener

import torch

from regard.decode.one_token import library
from regard.decode.one_token.attach import WORTH_COMPILING
from regard.decode.one_token.step import kind_of
from regard.decode.one_token.weights import Texts
from regard.models import GPT
from regard.parts import RMSNorm, Rotary, SwiGLU

HEAD = 64  # width of an attention head
NO_PROXY = build_opener(ProxyHandler({}))  # a proxy would not find this machine's loopback


@contextmanager
def workplace() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="regard-bench-", ignore_cleanup_errors=True) as name:
        caches = {"TORCHINDUCTOR_CACHE_DIR": f"{name}/torch"}
        if library.folder() is not None:  # compiling is not switched off
            caches[library.VARIABLE] = name
        on_main = current_thread() is main_thread()
        handler = signal.signal(signal.SIGTERM, signal.default_int_handler) if on_main else None  # it tidies up, too
        before = {variable: os.environ.get(variable) for variable in caches}
        os.environ.update(caches)
        try:
            yield Path(name)
        finally:
            if on_main:
                signal.signal(signal.SIGTERM, handler)
            for variable, value in before.items():
                os.environ.pop(variable)
                if value is not None:
                    os.environ[variable] = value


def llama(width: int, hidden: int, layers: int, vocab: int) -> GPT:
    return GPT(
        vocab=vocab, width=width, layers=layers, heads=max(1, width // HEAD), position=Rotary(), norm=RMSNorm(1e-5),
        feed=SwiGLU(hidden), bias=False, tied=False, dropout=0.0,
    )  # fmt: skip


def parameters_of(config: GPT) -> int:
    with torch.device("meta"):
        return sum(one.numel() for one in config.build().parameters())


def compile_for(config: GPT, precisions: Sequence[str], forms: Sequence[Texts] = ("one",)) -> bool:
    """Compile the step of a model that is worth it, all forms at once; whether it is compiled."""
    folder = library.folder()
    if folder is None or parameters_of(config) < WORTH_COMPILING:
        return False
    kind = kind_of(config, 0)  # all layers are alike
    wanted = list(itertools.product(precisions, forms))
    paths = [library.path_of(config, kind, *one, folder) for one in wanted]
    started = (
        library.start_compiling(config, kind, *one, path)
        for one, path in zip(wanted, paths, strict=True)
        if not path.exists()
    )
    processes = [process for process in started if not isinstance(process, library.NotStarted)]
    try:
        for process in processes:
            process.wait()
    finally:  # after Ctrl-C, too
        for process in processes:
            process.kill()
            process.wait()
    return all(path.exists() for path in paths)
