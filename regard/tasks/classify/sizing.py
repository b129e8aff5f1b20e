"""The recipe of a text classifier fitted to its texts, by few rules, each with its reason.

The recipe was tuned on some ten thousand sentences. Longer texts are read further, since what decides their label may
stand at their end; many texts can train a larger network. What the user sets is not touched.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from regard.core.errors import UserError
from regard.data.text.labelled import LabelFiles, read_labelled
from regard.models import BERT
from regard.tasks.plan import Plan

SAMPLE = 2000  # texts whose words are counted
MOST = 0.9  # of the texts are read to their end, as far as the limit allows
PER_WORD = 1.4  # tokens of a word, about
LIMIT, STEP = 512, 64  # tokens of a text: more cost too much; multiples of this many
LONG = 256  # tokens from which on half as many texts make a batch
MANY_TEXTS = 200_000
FEW_TEXTS = 10  # of a label


def fitted(plan: Plan) -> tuple[Plan, Mapping[str, str]]:
    """The plan for these texts, and why; files that cannot be read are reported when training reads them."""
    assert isinstance(plan.data, LabelFiles)
    assert isinstance(plan.model, BERT)
    try:
        rows = read_labelled(plan.data.train, plan.data.columns)
    except UserError:
        return plan, {}
    reasons: dict[str, str] = {}
    plan = _length(plan, [row.fields[1] for row in rows[:: max(1, len(rows) // SAMPLE)]], reasons)
    if len(rows) >= MANY_TEXTS and not plan.data.unlabelled:
        reasons["model"] = f"4 layers of width 256, dropout 0.1: {len(rows):,} texts can train them"
        plan = replace(plan, model=replace(plan.model, width=256, layers=4, dropout=0.1))
    label, count = min(Counter(row.fields[0] for row in rows).items(), key=lambda one: one[1])
    if count < FEW_TEXTS:
        reasons[""] = f"the label {label!r} has {count} texts: too few to learn it; add some if you can"
    return plan, reasons


def _length(plan: Plan, texts: Sequence[str], reasons: dict[str, str]) -> Plan:
    words = sorted(len(text.split()) for text in texts)
    needed = PER_WORD * words[int(MOST * (len(words) - 1))] + 2
    length = min(LIMIT, -(-int(needed) // STEP) * STEP)
    if length <= plan.data.max_length:
        return plan
    typical = words[len(words) // 2]
    reasons["data.max_length"] = (
        f"{length} tokens of each text are read: half of the texts have {typical:,} words or more"
    )
    training = plan.training
    if length >= LONG:
        training = replace(training, batch_size=training.batch_size // 2)
        reasons["training.batch_size"] = f"{training.batch_size} texts in a batch: they are long"
    return replace(plan, data=replace(plan.data, max_length=length), training=training)
