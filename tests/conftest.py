"""What every test starts from: shapes that are checked, one thread, its own seed, no network."""

import gc
import logging
import os
import zlib
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # subprocesses would compile torch again, for 10 s each
os.environ["REGARD_CACHE"] = "off"  # nothing is compiled for decoding, but where a test asks for it
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")

if os.environ.get("REGARD_SHAPES", "1") != "0":  # REGARD_SHAPES=0: leave the annotations unchecked
    from tests.checking import check_package

    check_package("regard")  # before anything imports it

import hypothesis
import pytest
import torch

DEFAULTS = (128, 256)  # tokens of a summary and of a translation
LITTLE = 16  # more than a date has

torch.set_num_threads(1)
hypothesis.settings.register_profile("regard", deadline=None, derandomize=True, max_examples=60)
hypothesis.settings.load_profile("regard")


def pytest_collection_finish() -> None:
    """What has been imported by now stays: looking through it for garbage took a fifth of a second each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _seed(request: pytest.FixtureRequest) -> None:
    """Each test draws its own random numbers, the same ones whatever runs before it."""
    torch.manual_seed(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture(autouse=True)
def _notes() -> Iterator[None]:
    """What the command line does to the logger ends with the test."""
    yield
    logger = logging.getLogger("regard")
    logger.handlers, logger.propagate = [], True
    logger.setLevel(logging.NOTSET)


@pytest.fixture
def notes() -> Iterator[list[str]]:
    """The messages that the library logs, for tests that call it without the command line."""
    logger, messages = logging.getLogger("regard"), list[str]()

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(record.getMessage())

    handler, level = Collect(), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield messages
    logger.removeHandler(handler)
    logger.setLevel(level)


@pytest.fixture(autouse=True, scope="session")
def _write_little() -> Iterator[None]:
    """An untrained model does not know when to end: where no test says how long, its texts end early.

    Every run of a translator or a summariser is scored by what it writes, which would be most of its time.
    """
    from regard.tasks.seq2seq.writing import write_targets

    def write(model: Any, tokenizer: Any, texts: Any, max_tokens: int, **more: Any) -> Any:
        few = LITTLE if max_tokens in DEFAULTS else max_tokens
        return write_targets(model, tokenizer, texts, few, **more)

    with pytest.MonkeyPatch.context() as patch:
        for module in ("translate.task", "summarise.candidates"):
            patch.setattr(f"regard.tasks.{module}.write_targets", write)
        yield
