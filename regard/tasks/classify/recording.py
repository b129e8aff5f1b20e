"""Recording a text classifier: the probabilities of its labels, and all attention."""

from collections.abc import Callable, Sequence

from torch import Tensor

from regard.data.text.labelled import encode_texts, encode_trees
from regard.data.trees.conllu import Parse
from regard.data.trees.tree_positions import pad_trees
from regard.tasks.attention_maps import hear, label_names, ranked, self_attention_maps, token_labels
from regard.tasks.base import Run
from regard.tasks.recording import Recording, ViewInput

Probabilities = Callable[[Tensor], Tensor]  # from the scores of the network


def record_label(
    run: Run,
    view_input: ViewInput,
    labels: Sequence[str],
    max_length: int,
    probabilities_of: Probabilities,
    tree: Parse | None = None,
) -> Recording:
    tokenizer, notes = run.require_tokenizer("no text can be given to it"), []
    [full], [tokens] = tokenizer.encode([view_input.text]), encode_texts([view_input.text], tokenizer, max_length)
    if len(full) > max_length - 2:
        notes.append(f"only the first {max_length - 2:,} of {len(full):,} tokens are read")
    trees = encode_trees([view_input.text], None if tree is None else [tree], tokenizer, max_length)
    logits, heard = hear(run, tokens, None if trees is None else pad_trees(trees))
    scores = probabilities_of(logits.float().cpu())[0]
    probabilities = ranked(scores, labels or label_names(run.extra, len(scores)))
    maps = self_attention_maps(heard, token_labels(tokenizer, tokens))
    return Recording(view_input, probabilities[0][0], probabilities, maps, tuple(notes))
