"""`regard train lm` and `regard generate`."""

import logging
import sys
from dataclasses import replace
from pathlib import Path

from regard.tasks.options import Changes, CorpusOptions

log = logging.getLogger(__name__)


def train_lm(options: CorpusOptions, *, changes: Changes = None) -> int:
    """Train a language model on your own text, for `regard generate`.

    Any setting can be changed with a dotted option, such as --model.layers 4 or --data.tokenizer BPE;
    --show-settings prints them all.
    """
    from regard.tasks.lm.recipe import language_model

    return options.train(language_model(options.files), changes)


def generate(
    run: Path,
    *,
    prompt: str = "",
    max_tokens: int = 200,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    repetition_penalty: float | None = None,
    stop: tuple[str, ...] = (),
    seed: int | None = None,
    precision: str = "float32",
) -> None:
    """Generate text that follows a prompt, printed as it comes.

    Parameters
    ----------
    run
        Run folder of a language model, or a Hugging Face folder of one (GPT-2, Llama, GPT-NeoX).
    prompt
        The text to continue.
    max_tokens
        Maximum number of tokens to generate.
    temperature
        Below 1 more certain, above 1 more varied; 0 always takes the most probable token. Default: 0.8.
    top_k
        Sample from this many of the most probable tokens.
    top_p
        Sample from the most probable tokens that together have this probability.
    min_p
        Sample from tokens at least this fraction as probable as the most probable.
    repetition_penalty
        Above 1 makes tokens that have occurred less probable.
    stop
        End before this text; may be given several times.
    seed
        The same seed generates the same text.
    precision
        Of the weights while writing: float32, bfloat16 or int8. Fewer bytes are read faster from memory; int8 changes
        some words.
    """
    from regard.decode import Sampling
    from regard.parts.linear import pack
    from regard.tasks.lm.generate import room_after
    from regard.tasks.run import load_run

    sampling = Sampling(top_k=top_k, top_p=top_p, min_p=min_p, seed=seed)
    if temperature is not None:
        sampling = replace(sampling, temperature=temperature)
    if repetition_penalty is not None:
        sampling = replace(sampling, repetition_penalty=repetition_penalty)
    loaded = load_run(run)
    pack(loaded.model, precision)
    pieces = loaded.generate(prompt, max_tokens, sampling, stop)
    tokenizer = loaded.require_tokenizer("it continues tokens but no text")
    [tokens] = tokenizer.encode([prompt])
    if unknown := tokenizer.count_unknown(tokens):
        log.info(f"note: {unknown:,} of {len(tokens):,} tokens of the prompt never occur in the training text of {run}")
    room = room_after(loaded.model, len(tokenizer.prompt(prompt)))
    if room is not None and room < max_tokens:
        log.info(f"note: {run} has positions for at most {room:,} tokens after this prompt")
    sys.stdout.write(prompt)
    for piece in pieces:
        sys.stdout.write(piece)
        sys.stdout.flush()
    sys.stdout.write("\n")


TRAIN = {"lm": train_lm}
USE = (generate,)
