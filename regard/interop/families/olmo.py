"""OLMo: norms without a gain; from 2 on norms of what the branches give, and of queries and keys over all heads."""

from dataclasses import replace

from regard.interop.families.decoder import (
    FULL,
    NORMED_BRANCHES,
    attention_by_layer,
    biased,
    causal,
    layer_kinds,
    table_of,
    trunk,
)
from regard.interop.folder import Weights
from regard.interop.settings import LENGTH, Settings
from regard.interop.table import Table
from regard.models.gpt import GPT
from regard.parts.norms import AcrossHeads, LayerNorm
from regard.parts.positions import NoPosition
from regard.parts.wiring import BranchNorm


def olmo(file: Settings, weights: Weights, architecture: str) -> GPT:
    file.only("clip_qkv", None)
    return GPT(**trunk(file) | biased(file) | {"norm": LayerNorm(1e-5, bias=False)})


def olmo_table(config: GPT) -> Table:
    names = {ours: theirs for ours, theirs in NORMED_BRANCHES.items() if not ours.endswith("norm")}
    whole = table_of(names, constants=dict.fromkeys(GAINS, 1.0))
    return replace(whole, rows=[row for row in whole.rows if row.ours != ("decoder.norm.weight",)])


GAINS = ("decoder.{}.attend_norm.weight", "decoder.{}.feed_norm.weight", "decoder.norm.weight")


def olmo2(file: Settings, weights: Weights, architecture: str) -> GPT:
    shared = trunk(file)
    norms = {"wiring": BranchNorm(), "query_norm": AcrossHeads(shared["norm"])}
    return GPT(**shared | biased(file) | norms)


def exaone4(file: Settings, weights: Weights, architecture: str) -> GPT:
    """Where some layers slide, the others have no positions."""
    shared = trunk(file)
    every = file.integer("sliding_window_pattern", 4, LENGTH) if _number(file, "sliding_window_pattern") else 0
    window = file.optional_integer("sliding_window", LENGTH)
    kinds = layer_kinds(file, shared["layers"], lambda layer: bool(every) and bool((layer + 1) % every))
    attention = attention_by_layer(kinds, window)
    if "alternate" in attention:
        attention["alternate_position"] = NoPosition()
    elif window is not None and FULL in kinds:
        attention["position"] = NoPosition()
    return GPT(**shared | attention | {"wiring": BranchNorm(), "query_norm": shared["norm"]})


def _number(file: Settings, key: str) -> bool:
    file.read_keys.add(key)
    return isinstance(file.data.get(key), int)


def branches(config: GPT) -> Table:
    return table_of(NORMED_BRANCHES)


FAMILIES = (
    causal("olmo", "Olmo", olmo, olmo_table, vocab_size=50304),
    causal("olmo2", "Olmo2", olmo2, branches, vocab_size=50304, rms_norm_eps=1e-5),
    causal(
        "exaone4", "Exaone4", exaone4, branches, vocab_size=102400, hidden_size=4096, intermediate_size=16384,
        rms_norm_eps=1e-5, sliding_window=4096, sliding_window_pattern=4,
    ),
)  # fmt: skip
