"""What every test starts from: shapes that are checked, one thread, its own seed, no network."""

import os
import zlib

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")

if os.environ.get("REGARD_SHAPES", "1") != "0":  # REGARD_SHAPES=0: leave the annotations unchecked
    import jaxtyping

    import tests.checking  # noqa: F401 (the hook looks it up by name)

    # Must come before the first import of regard: from here on every shape annotation of the package is a check.
    jaxtyping.install_import_hook("regard", "tests.checking.check")

import hypothesis
import pytest
import torch

torch.set_num_threads(1)
hypothesis.settings.register_profile("regard", deadline=None, derandomize=True, max_examples=60)
hypothesis.settings.load_profile("regard")


@pytest.fixture(autouse=True)
def _seed(request: pytest.FixtureRequest) -> None:
    """Each test draws its own random numbers, the same ones whatever runs before it."""
    torch.manual_seed(zlib.crc32(request.node.nodeid.encode()))
