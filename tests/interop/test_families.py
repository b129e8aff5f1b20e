"""Every other family that is read: logits and patterns of `transformers`, and the tokens that it writes greedily."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from regard.interop.families import FAMILIES
from regard.interop.folder import Weights
from regard.interop.huggingface import read
from regard.interop.settings import Settings
from tests.interop.comparing import differences, same_greedy_tokens, tokens
from tests.interop.families import make_as, make_case
from tests.interop.refusing import refused
from tests.interop.zoo import FALCON_ALIBI, ZOO

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
    compared = {getattr(transformers, kind).config_class.model_type for _, kind, _ in ZOO.values()}
    assert compared | SEEN == set(FAMILIES)


def test_falcon_with_alibi(tmp_path: Path) -> None:
    """In their eager code the slopes count twice; in their default code once, as they were trained."""
    make_as("falcon-alibi", "FalconForCausalLM", FALCON_ALIBI).save_pretrained(tmp_path)
    theirs = transformers.FalconForCausalLM.from_pretrained(tmp_path).eval()
    given = tokens(2, 9)
    with torch.no_grad():
        assert (theirs(given).logits - read(tmp_path).model(given)).abs().max() < CLOSE


@pytest.mark.parametrize("name", ["blenderbot-small", "deberta-v2", "whisper"])
def test_what_cannot_be_expressed_is_said_in_a_line(name: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": name}))
    refused(tmp_path, name, "is not read: ")


def test_defaults_are_those_of_transformers() -> None:
    """A file that leaves everything out means what their config class means, in every setting that we read."""
    for family in FAMILIES.values():
        whole = json.loads(json.dumps(CONFIG_MAPPING[family.model_type]().to_dict()))
        full, empty = (
            family.config(Settings({**family.defaults, **data}, "here"), Weights({}), family.architectures[-1])
            for data in (whole, {"model_type": family.model_type})
        )
        sized = [replace(each, head_size=each.head_size or each.width // each.heads) for each in (full, empty)]
        assert sized[0] == sized[1], family.model_type
