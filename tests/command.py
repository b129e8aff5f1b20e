"""The command line from inside a test."""

import pytest

from regard.cli import main


def regard(*words: object) -> int:
    """Run a command; gives its exit code."""
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    assert isinstance(ended.value.code, int)
    return ended.value.code
