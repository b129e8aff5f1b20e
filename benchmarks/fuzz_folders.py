"""Mutate run folders and load them: every one must load or be refused in one line.

    python benchmarks/fuzz_folders.py --count 4000 --seed 0
    python benchmarks/fuzz_folders.py --count 1000 --kind text      # a trained language model
    python benchmarks/fuzz_folders.py --count 1000 --kind tasks     # every other task, with random weights

A folder of a stranger is data, not code, and must not crash, hang or fill the memory. The command makes small folders,
mutates a file of one of them (types, ranges, sizes, NaN, missing and extra keys, nesting, duplicates, shapes, bytes),
loads it in a process with limits of time and memory, and predicts. It counts how each case ends, and prints the first
cases of each kind that must not occur.
"""

import argparse
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a process that is forked must not have used threads

import numpy as np
import pandas as pd
import torch
import yaml

import regard
from regard.core import tensors
from regard.core.config import to_dict
from regard.core.errors import UserError
from regard.models import (
    BERT,
    RNN,
    ClassifierHead,
    DecoderOnly,
    InContext,
    Model,
    TokenClassifierHead,
    Transformer,
    ViT,
)
from regard.parts.feed import SquaredReLU
from regard.tables import NPTClassifier, NPTImputer, NPTRegressor, folds, large, modes
from regard.tasks import (
    Classify,
    ClassifyImages,
    LanguageModel,
    MaskedLM,
    Summarise,
    Tag,
    Task,
    Translate,
    save_run,
)
from regard.text import WordPiece

SECONDS = 30  # of computing in a case; one that only waits is given up after as many minutes
MEMORY = 1_500_000_000  # bytes of address space beyond those of the process that forks
REFUSED, FAILED, LONG, FULL = 10, 11, 12, 13
OUTCOMES = {
    0: "loaded", REFUSED: "refused", FAILED: "internal error", LONG: "refused in several lines", FULL: "memory",
    -signal.SIGXCPU: "hang",
}  # fmt: skip
GOOD = ("loaded", "refused")
TEXT = "the cat sees a dog. a dog sees the cat."
DTYPES = (torch.float16, torch.float64, torch.int64, torch.bool, torch.bfloat16, torch.uint8)


def values() -> list[Any]:
    """What stands in place of a value."""
    deep: Any = 1
    for _ in range(150):
        deep = [deep]
    return [
        None, True, False, 0, 1, -1, 2, 255, 2**31, 2**63, 10**18, -(10**18), 10**40, 0.5, -0.5, 1e308, 1e-308,
        float("nan"), float("inf"), float("-inf"), "", "x", "1", "NPT", "InContext", "x" * 5000, "\x00", "é\n", [], {},
        [0], [[]], [None] * 3, list(range(5000)), {"kind": "GPT"}, {"a": 1}, {"kind": "Full", "scale": -1.0}, deep,
    ]  # fmt: skip


def mutate_document(document: Any, rng: random.Random) -> Any:
    """A copy with one to three changes at random places."""
    document = deepcopy(document)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = [place for place in _places(document) if place[0] is not None]
        if not places:
            return rng.choice(values())
        parent, key = rng.choice(places)
        _change(parent, key, rng)
    return document


def _places(node: Any, parent: Any = None, key: Any = None) -> list[tuple[Any, Any]]:
    places = [(parent, key)]
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for name, value in list(items)[:50]:
        places += _places(value, node, name)
    return places


def _change(parent: Any, key: Any, rng: random.Random) -> None:
    value = parent[key]
    kind = rng.randrange(8)
    if kind == 0:
        del parent[key]
    elif kind == 1 and isinstance(parent, dict):
        parent[rng.choice(("extra", "kind", "", "members", 7))] = rng.choice(values())
    elif kind == 1:
        parent.append(deepcopy(value))
    elif kind == 2 and isinstance(value, (int, float)) and not isinstance(value, bool):
        parent[key] = rng.choice((-value, value * 1000, value + 1, value - 1, float(value), str(value), value * 10**9))
    elif kind == 2 and isinstance(value, list):
        parent[key] = rng.choice((value[::-1], value * 2, value[1:], [value], value + value[:1]))
    elif kind == 2 and isinstance(value, str):
        parent[key] = rng.choice((value * 2, value[:-1], value.upper(), value + "\n", [value]))
    elif kind == 3:
        other = rng.choice(list(parent) if isinstance(parent, dict) else range(len(parent)))
        parent[key], parent[other] = parent[other], parent[key]
    else:
        parent[key] = deepcopy(rng.choice(values()))


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    kind, place = rng.randrange(5), rng.randrange(max(1, len(data)))
    if kind == 0:
        return data[:place]
    if kind == 1:
        return data[:place] + bytes(rng.randrange(256) for _ in range(8)) + data[place + 8 :]
    if kind == 2:
        return data[:place] + rng.choice((b"[" * 20_000, b"{" * 5000, b"&a [*a, *a]", b"9" * 6000, b"\xff\xfe"))
    if kind == 3:
        return data + data
    return data.replace(b"1", rng.choice((b"-1", b"999999999", b"1e999")), rng.randrange(1, 4))


def mutate_tensors(stored: dict[str, torch.Tensor], rng: random.Random) -> dict[str, torch.Tensor]:
    stored = dict(stored)
    name = rng.choice(sorted(stored))
    tensor = stored[name]
    wide = tensor.dtype if tensor.is_floating_point() else torch.float32
    changes: list[Callable[[], torch.Tensor]] = [
        lambda: tensor.to(rng.choice(DTYPES)),
        lambda: tensor.flatten(),
        lambda: tensor[None],
        lambda: tensor.transpose(0, -1) if tensor.dim() > 1 else tensor[:0],
        lambda: tensor[: max(0, len(tensor) - 1)] if tensor.dim() else tensor,
        lambda: torch.cat([tensor, tensor]) if tensor.dim() else tensor,
        lambda: tensor.to(wide) * rng.choice((-1.0, 0.0, 1e6, float("nan"), float("inf"))),
        lambda: torch.full_like(tensor, rng.choice((0, 1))),
        lambda: tensor + 1 if tensor.dtype != torch.bool else ~tensor,
        lambda: tensor - 7 if tensor.dtype != torch.bool else tensor,
        lambda: torch.zeros(0),
        lambda: torch.full(tensor.shape, 10**9).to(tensor.dtype),
    ]
    kind = rng.randrange(len(changes) + 3)
    if kind < len(changes):
        stored[name] = changes[kind]()
    elif kind == len(changes):
        del stored[name]
    elif kind == len(changes) + 1:
        stored["extra"] = tensor.clone()
    else:
        other = rng.choice(sorted(stored))
        stored[name], stored[other] = stored[other].clone(), tensor.clone()
    return stored


def mutate_folder(folder: Path, rng: random.Random) -> str:
    """Change one file of a folder in place; returns what was changed."""
    file = rng.choice(sorted(path for path in folder.iterdir() if path.suffix in (".yaml", ".json", ".safetensors")))
    if rng.random() < 0.15:
        file.write_bytes(mutate_bytes(file.read_bytes(), rng))
        return f"bytes of {file.name}"
    if file.suffix == ".safetensors":
        tensors.save(file, mutate_tensors(tensors.load(file), rng))
    elif file.suffix == ".json":
        file.write_text(json.dumps(mutate_document(json.loads(file.read_text()), rng)), encoding="utf-8")
    else:
        file.write_text(yaml.safe_dump(mutate_document(yaml.safe_load(file.read_text()), rng)), encoding="utf-8")
    return file.name


def small_table(rows: int = 30) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "number": rng.normal(size=rows),
        "category": rng.choice(["a", "b", "c"], rows),
        "date": pd.date_range("2024-01-01 08:00", periods=rows, tz="Europe/Berlin"),
        "empty": np.nan,
    })  # fmt: skip
    frame.loc[::5, ["number", "category", "date"]] = None
    return frame


def small_weights(folder: Path) -> Path:
    """A tiny in-context model of random weights."""
    folder.mkdir()
    feed = SquaredReLU(hidden=16)
    config = InContext(width=16, layers=1, heads=2, cell_width=8, cell_heads=2, thinking_rows=2, feed=feed)
    torch.manual_seed(0)
    tensors.save(folder / "model.safetensors", config.build().state_dict())
    (folder / "config.yaml").write_text(yaml.safe_dump({"model": to_dict(config)}))
    return folder


def make_tables(place: Path) -> list[Path]:
    frame, weights = small_table(), small_weights(place / "weights")
    number, label = frame["number"].fillna(0.0).to_numpy(), np.where(frame["number"] > 0, "high", "low")
    settings = {"mode": "in_context", "members": 2, "weights": weights, "random_state": 0}
    scratch = {"mode": "scratch", "time_limit": 0.2, "random_state": 0}
    fitted = {
        "classes": NPTClassifier(**settings).fit(frame, pd.Series(label, name="label")),
        "numbers": NPTRegressor(**settings).fit(frame, pd.DataFrame({"a": number, "b": -number})),
        "scratch_classes": NPTClassifier(**scratch).fit(frame, label),
        "scratch_numbers": NPTRegressor(**scratch).fit(frame, number),
        "imputer": NPTImputer(members=1, weights=weights, random_state=0).fit(frame),
    }
    whole = {**settings, "mode": "auto", "time_limit": 1.0}
    with every_predictor():
        fitted["large_classes"] = NPTClassifier(**whole).fit(pd.concat([frame] * 4), np.tile(label, 4))
        fitted["large_numbers"] = NPTRegressor(**whole).fit(pd.concat([frame] * 4), np.tile(number, 4))
    for name, one in fitted.items():
        one.save(place / name)
    return [place / name for name in fitted]


@contextmanager
def every_predictor() -> Iterator[None]:
    """Small tables are fitted as large ones, and every predictor has a weight."""
    before = modes.LARGE, large.best_weights, folds.MIN_HELD_OUT, large.MIN_HELD_OUT
    modes.LARGE, folds.MIN_HELD_OUT, large.MIN_HELD_OUT = 0, 2, 2
    large.best_weights = lambda predictions, _: [1 / len(predictions)] * len(predictions)
    try:
        yield
    finally:
        modes.LARGE, large.best_weights, folds.MIN_HELD_OUT, large.MIN_HELD_OUT = before


def make_texts(place: Path) -> list[Path]:
    from regard.cli import main

    (place / "text.txt").write_text(f"{TEXT}\n" * 50)
    small = ["--model.width=16", "--model.layers=1", "--model.heads=2", "--training.compile=never"]
    try:
        main(["train", "lm", "--data", str(place / "text.txt"), "--out", str(place / "lm"), "--steps", "2", *small])
    except SystemExit as stop:
        if stop.code:
            raise RuntimeError("the small language model was not trained") from None
    shutil.rmtree(place / "lm" / "checkpoints", ignore_errors=True)
    return [place / "lm"]


def make_tasks(place: Path) -> list[Path]:
    """A run of every task besides the language model."""
    tokenizer = WordPiece(vocab=60).train([TEXT] * 20)
    vocab, small, labels = tokenizer.vocab, {"width": 16, "layers": 1, "heads": 2}, ("a", "b", "c")
    reader = BERT(vocab=vocab, head=ClassifierHead(labels=3), **small)
    runs: dict[str, tuple[Model, Task]] = {
        "translate": (Transformer(vocab=vocab, **small), Translate()),
        "rnn": (RNN(vocab=vocab, width=16), Translate()),
        "summarise": (DecoderOnly(vocab=vocab, **small), Summarise()),
        "classify": (reader, Classify(labels=labels)),
        "fill": (BERT(vocab=vocab, **small), MaskedLM()),
        "tag": (replace(reader, head=TokenClassifierHead(labels=3)), Tag(labels=labels)),
        "image": (ViT(labels=3, image=8, **small), ClassifyImages(labels, mean=(0.5,), std=(0.5,))),
    }
    for name, (config, task) in runs.items():
        save_run(place / name, config, config.build(), task, None if name == "image" else tokenizer)
    return [place / name for name in runs]


MAKERS = {"table": make_tables, "text": make_texts, "tasks": make_tasks}


def use(folder: Path) -> None:
    """Load a folder and predict."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = regard.load(folder)
        if isinstance(loaded, NPTImputer):
            loaded.transform(small_table(6))
        elif isinstance(loaded, (NPTClassifier, NPTRegressor)):
            loaded.predict(small_table(6))
            loaded.evidence(small_table(2), top=2)
        elif isinstance(loaded.task, LanguageModel):
            "".join(loaded.generate("the cat", max_tokens=4))
        elif isinstance(loaded.task, ClassifyImages):
            loaded([np.zeros((8, 8), np.uint8)])
        else:
            loaded(["the cat sees a [MASK]."])


def outcome(folder: Path) -> int:
    """How loading ends, in this process."""
    try:
        use(folder)
    except UserError as error:
        return LONG if "\n" in str(error) else REFUSED
    except MemoryError:
        return FULL
    except BaseException:
        (folder / "traceback.txt").write_text(traceback.format_exc())
        return FAILED
    return 0


def forked(folder: Path) -> str:
    """How loading ends, in a process of its own with limits."""
    child = os.fork()
    if child == 0:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os._exit(outcome(folder))
    deadline = time.monotonic() + 60 * SECONDS
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return OUTCOMES.get(os.waitstatus_to_exitcode(status), "dead")
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hang"


def fuzz(sources: list[Path], count: int, seed: int, run: Callable[[Path], str], keep: Path | None) -> Counter[str]:
    counts: Counter[str] = Counter()
    for number in range(count):
        rng = random.Random(f"{seed}/{number}")
        with tempfile.TemporaryDirectory() as place:
            source = rng.choice(sources)
            folder = Path(place) / source.name
            shutil.copytree(source, folder)
            changed = mutate_folder(folder, rng)
            ended = run(folder)
            counts[ended] += 1
            if ended not in GOOD and keep is not None:
                kept = keep / f"{number}-{ended.replace(' ', '-')}-{source.name}"
                shutil.copytree(folder, kept, dirs_exist_ok=True)
                print(f"case {number} ({changed} of {source.name}): {ended}; kept in {kept}", flush=True)
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=MAKERS, default="table")
    parser.add_argument("--keep", type=Path, help="folder for the cases that must not occur")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        sources = MAKERS[options.kind](Path(place))
        for source in sources:
            use(source)  # it must load as it is; and what it imports is then imported for every case
            assert forked(source) == "loaded", f"{source.name} does not load in a process with limits"
        counts = fuzz(sources, options.count, options.seed, forked, options.keep)
    print(json.dumps(dict(counts)))
    return int(any(name not in GOOD for name in counts))


if __name__ == "__main__":
    sys.exit(main())
