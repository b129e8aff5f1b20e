"""What every refusal must be: quick, and one line."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from regard.core.errors import UserError
from regard.interop.huggingface import read


def refused(folder: Path, *words: str, kind: type[UserError] = UserError) -> str:
    """Reading ends in one quick line that says all of `words`."""
    start = time.process_time()  # the machine may be busy
    with pytest.raises(kind) as caught:
        read(folder)
    message = str(caught.value)
    assert time.process_time() - start < 5
    assert "\n" not in message
    assert len(message) < 2000
    for word in words:
        assert word in message, message
    return message


def change(folder: Path, **keys: Any) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | keys))
