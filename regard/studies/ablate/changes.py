"""The changes of an ablation: functions from plan to plan, each with what it does and why it is tested.

A part of one's own needs no entry here: `--only MyAttention` puts that class, with its defaults, in the place of the
part that it inherits from.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, get_args, get_type_hints

from regard.core.config import override
from regard.core.errors import ConfigError, did_you_mean
from regard.models import Model, recurrent_counterpart
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
from regard.tasks.plan import Plan
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


def muon(plan: Plan) -> Plan:
    adamw = plan.training.optimiser
    if not isinstance(adamw, AdamW):
        raise ConfigError("the base has another optimiser than AdamW")
    return replace(
        plan, training=replace(plan.training, optimiser=Muon(lr=0.02, weight_decay=adamw.weight_decay, adamw=adamw))
    )


def half_the_layers(plan: Plan) -> Plan:
    return model(layers=max(1, getattr(plan.model, "layers", 1) // 2))(plan)


def experts(plan: Plan) -> Plan:
    """Four copies of the base's feed-forward, one active per token: as much compute, more parameters."""
    feed = getattr(plan.model, "feed", GELU())
    return model(feed=Experts(count=4, active=1, expert=feed))(plan)


def zero_init(plan: Plan) -> Plan:
    """Embeddings then start at full scale, where a GPT refuses a tied output head: it is untied."""
    try:
        return model(init=ZeroInit())(plan)
    except ConfigError:
        return model(init=ZeroInit(), tied=False)(plan)


def recurrent(attention: Full | Additive | None) -> Callable[[Plan], Plan]:
    def change(plan: Plan) -> Plan:
        return replace(plan, model=recurrent_counterpart(plan.model, attention))

    return change


def table_only(between: str) -> Callable[[Plan], Plan]:
    def change(plan: Plan) -> Plan:
        if not hasattr(plan.model, "between"):
            raise ConfigError("only a table has rows and columns")
        return model(between=between)(plan)

    return change


CHANGES = (
    Change("no-residuals", "no residual connections",
           "gradients lose their short path back", model(wiring=NoResidual())),
    Change("no-norm", "no normalisation",
           "activations lose their fixed scale", model(norm=NoNorm())),
    Change("post-norm", "normalisation after the residual sum, as in the first Transformer",
           "harder to train without warm-up", model(wiring=PostNorm())),
    Change("other-norm", "RMSNorm instead of LayerNorm, or the reverse",
           "subtracting the mean may add nothing", other_norm),
    Change("no-warm-up", "the learning rate starts at its peak",
           "the first steps of Adam are erratic", no_warmup),
    Change("unscaled", "scores not divided by the square root of the head size",
           "softmax saturates, gradients vanish", model(attention=Full(scale=1.0))),
    Change("one-head", "one head of the whole width",
           "one attention pattern per layer", model(heads=1)),
    Change("shared-keys", "multi-query attention: all heads share keys and values",
           "a smaller cache when decoding", model(kv_heads=1)),
    Change("no-feed-forward", "attention only",
           "without it stacked attention only averages", model(feed=NoFeed())),
    Change("swiglu", "SwiGLU feed-forward of the same size",
           "gates are reported to be worth their cost", model(feed=SwiGLU())),
    Change("experts", "mixture of four feed-forwards, one active per token",
           "more parameters for the same compute", experts),
    Change("half-the-layers", "half as many blocks",
           "what depth is worth", half_the_layers),
    Change("no-dropout", "no dropout",
           "whether the run is long enough to overfit", model(dropout=0.0)),
    Change("no-positions", "no position encoding",
           "attention sees a set, not a sequence", model(position=NoPosition())),
    Change("sinusoid", "sinusoidal positions",
           "any length, nothing to learn", model(position=Sinusoid())),
    Change("learned", "learned absolute positions",
           "flexible, but limited to the trained length", model(position=Learned(1024))),
    Change("shaw", "Shaw's relative positions",
           "distance matters, not the absolute position", model(position=Shaw())),
    Change("rotary", "rotary positions",
           "distance through rotated queries and keys", model(position=Rotary())),
    Change("alibi", "ALiBi",
           "a linear penalty on distance, per head", model(position=ALiBi())),
    Change("t5-bias", "T5's bucketed relative bias",
           "a learned bias for each range of distances", model(position=T5Bias())),
    Change("window", "sliding window of 16",
           "linear cost; distant tokens are invisible", model(attention=Window(reach=16))),
    Change("bigbird", "BigBird with blocks of 8",
           "linear cost; two hops reach everything", model(attention=BigBird(block=8))),
    Change("compressed", "memory-compressed attention: keys and values in groups of three",
           "a third of the keys", model(attention=Compressed())),
    Change("linformer", "Linformer with 16 slots",
           "linear cost at a fixed length", model(attention=Linformer(slots=16, length=1024))),
    Change("additive", "additive attention (Bahdanau)",
           "the first attention", model(attention=Additive())),
    Change("rnn-attention", "an RNN with attention over the source",
           "recurrence instead of self-attention", recurrent(Additive())),
    Change("rnn", "an RNN of twice the width, no attention",
           "everything read must pass through one state", recurrent(None)),
    Change("query-norm", "normalised queries and keys",
           "bounded attention scores", model(query_norm=RMSNorm())),
    Change("zero-init", "zero-initialised output projections",
           "every block starts as the identity", zero_init),
    Change("embedding-skip", "a learned skip connection from the embedding to every block",
           "the input stays within reach", model(embedding_skip=EmbeddingSkip())),
    Change("bigram", "bigram embedding",
           "a bigram model for free", model(bigram=BigramEmbedding())),
    Change("muon", "Muon for the matrices of the blocks",
           "equal steps in all directions", muon),
    Change("rows-only", "attention between rows only",
           "the attributes of a row never meet", table_only("rows")),
    Change("columns-only", "attention between attributes only",
           "no row sees another: a parametric model", table_only("columns")),
)  # fmt: skip


def choose_changes(only: Sequence[str]) -> tuple[Change, ...]:
    """The changes of these names, in the order of the table; all of them if there are no names."""
    if not only:
        return CHANGES
    named = {change.name: change for change in CHANGES}
    parts = dict(_parts())
    for name in only:
        if name not in named and name not in parts:
            raise ConfigError(f"--only {name}: unknown change; {did_you_mean(name, [*named, *parts])}")
    requested = [_part_change(name, parts[name]) for name in dict.fromkeys(only) if name not in named]
    return (*(change for name, change in named.items() if name in only), *requested)


def _part_change(name: str, setting: str) -> Change:
    return Change(
        name, f"{name} as {setting}", "requested by name", lambda plan: override(plan, {f"model.{setting}": name})
    )


def _parts() -> Iterator[tuple[str, str]]:
    """The class name of every part, imported modules of the user's included, and the setting that takes it."""
    seen: set[type] = set()
    for config in get_args(Model):
        hints = get_type_hints(config)
        for setting in (field.name for field in fields(config)):
            for part in _configs(get_args(hints[setting]) or (hints[setting],)):
                if part not in seen:
                    seen.add(part)
                    yield part.__name__, setting


def _configs(kinds: Iterable[Any]) -> Iterator[type]:
    """The config classes among these types, each with its subclasses."""
    for kind in kinds:
        if isinstance(kind, type) and is_dataclass(kind):
            yield kind
            yield from _configs(kind.__subclasses__())


def applicable(base: Plan, change: Change) -> tuple[Plan | None, str]:
    """The changed plan, or None and why the change does not apply. The plan must know its data's vocabulary."""
    try:
        changed = change.make(base)
        if changed == base:
            return None, "the base already has it"
        changed.model.build()  # refuses incompatible parts
    except ConfigError as error:
        return None, str(error)
    return changed, ""
