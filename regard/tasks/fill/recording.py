"""Recording an encoder that fills in words: its candidates for the first mask, and all attention."""

from regard.models import BERT, NoHead
from regard.tasks.attention_maps import SHOWN, check_length, hear, self_attention_maps, token_labels
from regard.tasks.base import Run
from regard.tasks.fill.filling import candidates, fill
from regard.tasks.recording import Recording, ViewInput
from regard.text import MaskFilling


def record_masks(run: Run, view_input: ViewInput) -> Recording:
    tokenizer, notes = run.require_tokenizer("no text can be given to it"), []
    [tokens] = MaskFilling(tokenizer).encode([view_input.text])
    check_length(run, len(tokens))
    answer, probabilities = "", []
    if not (isinstance(run.config, BERT) and isinstance(run.config.head, NoHead)):
        [answer] = fill(run.model, tokenizer, [view_input.text])
        [masks] = candidates(run.model, tokenizer, [view_input.text], SHOWN)
        probabilities = [(one.word, one.probability) for one in masks[0]] if masks else []
        if not masks:
            notes.append("nothing to fill in: write [MASK] in place of a word")
        elif len(masks) > 1:
            notes.append("the probabilities are those of the first [MASK]")
    _, heard = hear(run, tokens)
    maps = self_attention_maps(heard, token_labels(tokenizer, tokens))
    return Recording(view_input, answer, tuple(probabilities[:SHOWN]), maps, tuple(notes))
