"""Recording a language model: one pass over a text gives its patterns, and its continuation starts from there."""

import torch

from regard.decode import continuation, text_writer, write
from regard.parts.taps import listen
from regard.tasks.attention_maps import SHOWN, check_length, self_attention_maps, token_labels
from regard.tasks.base import Run
from regard.tasks.lm.generate import room_after
from regard.tasks.recording import Recording, ViewInput

CONTINUATION = 24  # tokens that are written after a text


def record_continuation(run: Run, view_input: ViewInput) -> Recording:
    tokenizer, model = run.require_tokenizer("no text can be given to it"), text_writer(run.model)
    tokens = tokenizer.prompt(view_input.text)
    check_length(run, len(tokens))
    room = room_after(run.model, len(tokens))
    more = CONTINUATION if room is None else min(CONTINUATION, room)
    prompt = torch.tensor([tokens], device=model.device)
    with torch.inference_mode(), listen(run.model) as heard:
        logits, state = model.step(prompt, model.init_state(len(tokens) + CONTINUATION))
    probabilities = logits[0, -1].float().softmax(-1)
    best = probabilities.topk(min(SHOWN, len(probabilities)))
    names = token_labels(tokenizer, best.indices.tolist())
    written = best.indices[:1].tolist()
    if written[0] != tokenizer.end and more > 1:
        written += write(model, state, best.indices[None, :1], tokenizer.end, more - 1)[0]
    maps = self_attention_maps(heard, token_labels(tokenizer, tokens))
    answer = continuation(tokenizer, tokens, written)
    return Recording(view_input, answer, tuple(zip(names, best.values.tolist(), strict=True)), maps)
