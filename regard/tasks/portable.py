"""The portable recipe: the model of a plan, at its size, made only of parts that other libraries have.

A run of it leaves as a Llama, BERT, Marian or ViT folder of Hugging Face, and a language model as GGUF. The default
recipes have parts that learn faster.
"""

from dataclasses import replace
from typing import Any

from regard.core.errors import ConfigError
from regard.models import BERT, GPT, ClassifierHead, Transformer, ViT
from regard.parts import GELU, LayerNorm, Learned, PostNorm, ReLU, RMSNorm, Rotary, Sinusoid, SwiGLU
from regard.tasks.classify.task import Classify
from regard.tasks.plan import Plan
from regard.tasks.summarise.task import Summarise

LENGTH = 512  # positions of an encoder


def portable(plan: Plan) -> Plan:
    """The plan with a model that other libraries know."""
    model = plan.model
    sizes: dict[str, Any] = {name: getattr(model, name, None) for name in ("width", "layers", "heads", "dropout")}
    if isinstance(plan.task, Classify):  # nobody else has its n-gram model
        plan = replace(plan, task=replace(plan.task, ngrams=None))
    if isinstance(plan.task, Summarise):
        plan = replace(plan, task=replace(plan.task, extract=None))
    if isinstance(model, GPT):  # a Llama
        return replace(
            plan, model=GPT(position=Rotary(), norm=RMSNorm(), feed=SwiGLU(), bias=False, tied=False, **sizes)
        )
    if isinstance(model, BERT):
        head = ClassifierHead() if isinstance(model.head, ClassifierHead) else model.head
        feed = GELU(hidden=getattr(model.feed, "hidden", None))
        return replace(plan, model=BERT(position=Learned(LENGTH), feed=feed, head=head, **sizes))
    if isinstance(model, Transformer):  # a Marian
        feed_forward = ReLU(hidden=getattr(model.feed, "hidden", None))
        parts: dict[str, Any] = {
            "position": Sinusoid(),
            "norm": LayerNorm(1e-5),
            "wiring": PostNorm(),
            "feed": feed_forward,
        }
        return replace(plan, model=Transformer(**parts, **sizes))
    if isinstance(model, ViT):
        return replace(plan, model=ViT(image=0, patch=0, channels=0, **sizes))  # 0: as the images are
    raise ConfigError(f"--recipe portable: no other library has a {type(model).__name__}; leave it out")
