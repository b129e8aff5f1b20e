"""Recording a tagger: each word with its label, and attention between the pieces of words."""

from regard.data.text.tagged_batches import encode_words
from regard.tasks.attention_maps import hear, self_attention_maps, token_labels
from regard.tasks.base import Run
from regard.tasks.recording import Recording, ViewInput


def record_tags(run: Run, view_input: ViewInput, tagged: list[tuple[str, str]], max_length: int) -> Recording:
    tokenizer, notes = run.require_tokenizer("no text can be given to it"), []
    [row] = encode_words([[word for word, _ in tagged]], tokenizer, max_length)
    if len(row.first) < len(tagged):
        notes.append(f"attention is shown for the first {len(row.first):,} of {len(tagged):,} words")
    _, heard = hear(run, row.tokens)
    maps = self_attention_maps(heard, token_labels(tokenizer, row.tokens))
    answer = "  ".join(f"{word}/{label}" for word, label in tagged)
    return Recording(view_input, answer, (), maps, tuple(notes))
