"""Every other family that is read: logits and patterns of `transformers`, and the tokens that it writes greedily."""

from pathlib import Path
from typing import Any

import pytest

from regard.interop.families import FAMILIES
from regard.interop.huggingface import read
from tests.interop.comparing import differences, same_greedy_tokens
from tests.interop.families import make_case
from tests.interop.zoo import ZOO

CLOSE = 1e-4
SEEN = {"gpt2", "llama", "gpt_neox", "bert", "vit", "marian", "t5"}  # by test_parity.py


@pytest.mark.parametrize("name", ZOO)
def test_logits_patterns_and_greedy_tokens(name: str, tmp_path: Path, record_property: Any) -> None:
    kind, theirs = ZOO[name][0], make_case(name)
    theirs.save_pretrained(tmp_path)
    imported = read(tmp_path)
    gaps = differences(kind, theirs, imported.model)
    record_property("differences", gaps)
    assert max(gaps) < CLOSE
    assert imported.extra["unread"] == []
    if kind in ("causal", "pairs"):
        assert same_greedy_tokens(kind, theirs, imported.model)


def test_every_family_is_compared() -> None:
    import transformers

    compared = {getattr(transformers, kind).config_class.model_type for _, kind, _ in ZOO.values()}
    assert compared | SEEN == set(FAMILIES)
