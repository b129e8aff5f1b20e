"""The changes of an ablation: each a function from plan to plan, with what it does and why anybody asks."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from regard.core.errors import ConfigError
from regard.models import recurrent_counterpart
from regard.parts import (
    GELU,
    Additive,
    ALiBi,
    BigBird,
    BigramEmbedding,
    Compressed,
    EmbeddingSkip,
    Experts,
    Full,
    LayerNorm,
    Learned,
    Linformer,
    NoFeed,
    NoNorm,
    NoPosition,
    NoResidual,
    PostNorm,
    RMSNorm,
    Rotary,
    Shaw,
    Sinusoid,
    SwiGLU,
    T5Bias,
    Window,
    ZeroInit,
)
from regard.recipes import Plan
from regard.train import AdamW, Muon


@dataclass(frozen=True)
class Change:
    name: str
    what: str
    why: str
    make: Callable[[Plan], Plan]


def model(**settings: Any) -> Callable[[Plan], Plan]:
    """A change of the model's settings alone."""

    def change(plan: Plan) -> Plan:
        known = {field.name for field in fields(plan.model)}
        for name in settings:
            if name not in known:
                raise ConfigError(f"{type(plan.model).__name__} has no {name}")
        return replace(plan, model=replace(plan.model, **settings))

    return change


def other_norm(plan: Plan) -> Plan:
    norm = getattr(plan.model, "norm", None)
    return model(norm=RMSNorm() if isinstance(norm, LayerNorm) else LayerNorm())(plan)


def no_warmup(plan: Plan) -> Plan:
    schedule = replace(plan.training.schedule, warmup=0)
    return replace(plan, training=replace(plan.training, schedule=schedule))


def by_muon(plan: Plan) -> Plan:
    rest = plan.training.optimiser
    if not isinstance(rest, AdamW):
        raise ConfigError("the base has another optimiser than AdamW")
    return replace(
        plan, training=replace(plan.training, optimiser=Muon(lr=0.02, weight_decay=rest.weight_decay, adamw=rest))
    )


def half_the_layers(plan: Plan) -> Plan:
    return model(layers=max(1, getattr(plan.model, "layers", 1) // 2))(plan)


def experts(plan: Plan) -> Plan:
    """Four of the base's own feed-forward, of which each token visits one: no more work, more to choose from."""
    feed = getattr(plan.model, "feed", GELU())
    return model(feed=Experts(count=4, active=1, expert=feed))(plan)


def zero_init(plan: Plan) -> Plan:
    """A language model then starts with large embeddings, which a tied head cannot score with."""
    return model(init=ZeroInit(), **({"tied": False} if plan.model.continues_text else {}))(plan)


def recurrent(attention: Full | Additive | None) -> Callable[[Plan], Plan]:
    def change(plan: Plan) -> Plan:
        return replace(plan, model=recurrent_counterpart(plan.model, attention))

    return change


def table_only(between: str) -> Callable[[Plan], Plan]:
    def change(plan: Plan) -> Plan:
        if not plan.model.reads_tables:
            raise ConfigError("only a table has rows and columns")
        return model(between=between)(plan)

    return change


CHANGES = (
    Change("no-residuals", "a sublayer replaces the stream",
           "gradients have no short way back", model(wiring=NoResidual())),
    Change("no-norm", "no norms",
           "the scale of what flows is no longer kept", model(norm=NoNorm())),
    Change("post-norm", "norm after the sum (the first Transformer)",
           "harder to train without warm-up", model(wiring=PostNorm())),
    Change("other-norm", "RMSNorm for LayerNorm, or the reverse",
           "taking the mean off may add nothing", other_norm),
    Change("no-warm-up", "the rate starts at its peak",
           "early steps of Adam are erratic", no_warmup),
    Change("unscaled", "scores not divided by the root of the head size",
           "softmax saturates, gradients vanish", model(attention=Full(scale=1.0))),
    Change("one-head", "one head of the whole width",
           "one look at a time", model(heads=1)),
    Change("shared-keys", "all heads share keys and values",
           "a smaller cache when writing", model(kv_heads=1)),
    Change("no-feed-forward", "attention only",
           "without it stacked attention only averages", model(feed=NoFeed())),
    Change("swiglu", "a gated feed-forward of the same size",
           "gates are said to be worth their price", model(feed=SwiGLU())),
    Change("experts", "four feed-forwards, of which each token visits one",
           "more parameters for the same work", experts),
    Change("half-the-layers", "half as many blocks",
           "what depth is worth", half_the_layers),
    Change("no-dropout", "no dropout",
           "whether the run is long enough to overfit", model(dropout=0.0)),
    Change("no-positions", "no position code",
           "attention sees a set, not a sequence", model(position=NoPosition())),
    Change("sinusoid", "sinusoid positions",
           "any length, nothing to learn", model(position=Sinusoid())),
    Change("learned", "a learned vector a place",
           "flexible, and ends with the table", model(position=Learned(1024))),
    Change("relative", "Shaw's relative positions",
           "what matters is how far, not where", model(position=Shaw())),
    Change("rotary", "rotary positions",
           "distance through turned queries and keys", model(position=Rotary())),
    Change("alibi", "ALiBi",
           "near is likelier, at a rate a head", model(position=ALiBi())),
    Change("buckets", "T5's bucketed distances",
           "a learned score for each range of distances", model(position=T5Bias())),
    Change("window", "a window of 16",
           "linear cost; the far is out of sight", model(attention=Window(reach=16))),
    Change("bigbird", "BigBird with blocks of 8",
           "linear cost; two hops reach everything", model(attention=BigBird(block=8))),
    Change("compressed", "keys and values in slots of three",
           "a third of the keys", model(attention=Compressed())),
    Change("linformer", "keys folded into 16 slots",
           "linear cost at a fixed length", model(attention=Linformer(slots=16, length=1024))),
    Change("additive", "scores by a small network (Bahdanau)",
           "the first attention", model(attention=Additive())),
    Change("rnn-attention", "an RNN that looks back at the source",
           "recurrence in place of self-attention", recurrent(Additive())),
    Change("rnn", "an RNN of twice the width, no attention",
           "all that was read goes through one state", recurrent(None)),
    Change("query-norm", "norms on queries and keys",
           "scores stay in bounds", model(query_norm=RMSNorm())),
    Change("zero-init", "output projections begin at zero",
           "training begins from the embedding alone", zero_init),
    Change("embedding-skip", "each block mixes in the embedding",
           "the embedding stays within reach", model(embedding_skip=EmbeddingSkip())),
    Change("bigram", "a vector for each pair of tokens",
           "a bigram model for free", model(bigram=BigramEmbedding())),
    Change("muon", "Muon for the matrices of blocks",
           "equal steps in every direction", by_muon),
    Change("rows-only", "attention between rows alone",
           "attributes of a row never meet", table_only("rows")),
    Change("columns-only", "attention between attributes alone",
           "no row sees another: a parametric model", table_only("columns")),
)  # fmt: skip


def applicable(base: Plan, change: Change) -> tuple[Plan | None, str]:
    """The changed plan, or None and why this base cannot take the change. The base's data must be known."""
    try:
        changed = change.make(base)
        if changed == base:
            return None, "the base has it already"
        changed.model.build()  # refuses parts that do not go together
    except ConfigError as error:
        return None, str(error)
    return changed, ""
