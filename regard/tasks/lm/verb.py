"""`regard train lm` and `regard generate`."""

import logging
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.tasks.options import Changes, CorpusOptions

if TYPE_CHECKING:
    from regard.decode import Sampling
    from regard.tasks.base import Run

log = logging.getLogger(__name__)


def train_lm(options: CorpusOptions, *, changes: Changes = None) -> int:
    """Train a language model on your own text, for `regard generate`.

    Tokenizer, size of the model and dropout follow from the text and the minutes; the reasons are printed first.
    Any setting can be changed with a dotted option, such as --model.layers 4 or --data.tokenizer BPE;
    --show-settings prints them all.
    """
    from regard.tasks.lm.recipe import language_model

    plan = language_model(options.files)
    if options.continues or options.init is not None:
        return options.train(plan, changes)
    from regard.core.config import override
    from regard.tasks.lm.sizing import fitted

    sources = {key: value for key, value in options.changes().items() if key in ("data.columns", "data.separator")}
    plan, reasons = fitted(override(plan, sources), options.minutes, options.epochs)
    return options.train(plan, changes, reasons)


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
    precision: str = "auto",
    chat: bool = False,
    plain: bool = False,
) -> None:
    """Generate text that follows a prompt, printed as it comes.

    Parameters
    ----------
    run
        Run folder of a language model, or a Hugging Face folder of one, or its name in the local cache.
    prompt
        The text to continue.
    max_tokens
        Maximum number of tokens to generate.
    temperature
        Below 1 more certain, above 1 more varied; 0 always takes the most probable token. Default: 0.8, or as
        generation_config.json says.
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
        some words. auto: bfloat16 for weights that were stored in it, where the processor is made for it.
    chat
        The prompt is a message to a chat model, which answers it; see `regard chat`.
    plain
        Names of special tokens in the prompt, such as <|im_end|>, are read as text: for prompts of strangers.
    """
    from regard.decode import Sampling, accelerate
    from regard.decode.accelerate import check_choice
    from regard.tasks.run import load_run

    drawn = {"top_k": top_k, "top_p": top_p, "min_p": min_p, "seed": seed}
    drawn |= {"temperature": temperature, "repetition_penalty": repetition_penalty}
    Sampling(**_chosen(drawn))  # a wrong value is refused before the model is read
    check_choice(precision)
    loaded = load_run(run)
    accelerate(loaded.model, precision)
    if plain and loaded.tokenizer is not None:
        loaded = replace(loaded, tokenizer=loaded.tokenizer.plain())
    sampling = _sampling(loaded, drawn)
    if chat:
        pieces = loaded.chat([{"role": "user", "content": prompt}], max_tokens, sampling)
    else:
        pieces = loaded.generate(prompt, max_tokens, sampling, stop)
        _note_prompt(loaded, prompt, max_tokens)
        sys.stdout.write(prompt)
    _put(pieces)


def chat(
    run: Path, *, system: str = "", max_tokens: int = 500, temperature: float | None = None, precision: str = "auto"
) -> None:
    """Talk with a model that has a chat template: each line of standard input is a message.

    Parameters
    ----------
    run
        Hugging Face folder of a chat model, or the name of one in the local cache.
    system
        System message, before the first one of the user.
    max_tokens
        Maximum number of tokens of an answer.
    temperature
        Below 1 more certain, above 1 more varied; 0 always takes the most probable token. Default: as the folder says.
    precision
        Of the weights while writing, as of `regard generate`: auto, float32, bfloat16 or int8.
    """
    from regard.decode import accelerate
    from regard.decode.accelerate import check_choice
    from regard.tasks.inputs import lines_as_they_come
    from regard.tasks.run import load_run

    check_choice(precision)
    loaded = load_run(run)
    accelerate(loaded.model, precision)
    sampling = _sampling(loaded, {"temperature": temperature})
    messages = [{"role": "system", "content": system}] if system else []
    for line in lines_as_they_come():
        messages.append({"role": "user", "content": line})
        messages.append({"role": "assistant", "content": _put(loaded.chat(messages, max_tokens, sampling))})


def _sampling(loaded: "Run", options: dict[str, Any]) -> "Sampling":
    from regard.tasks.lm.task import usual_sampling

    return replace(usual_sampling(loaded), **_chosen(options))


def _chosen(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _put(pieces: Iterable[str]) -> str:
    """Print what is written as it comes; returns the whole."""
    written = []
    for piece in pieces:
        sys.stdout.write(piece)
        sys.stdout.flush()
        written.append(piece)
    sys.stdout.write("\n")
    sys.stdout.flush()
    return "".join(written)


def _note_prompt(loaded: "Run", prompt: str, max_tokens: int) -> None:
    from regard.tasks.lm.generate import room_after

    tokenizer = loaded.require_tokenizer("it continues tokens but no text")
    [tokens] = tokenizer.encode([prompt])
    if unknown := tokenizer.count_unknown(tokens):
        where = f"never occur in the training text of {loaded.path}"
        log.info(f"note: {unknown:,} of {len(tokens):,} tokens of the prompt {where}")
    room = room_after(loaded.model, len(tokenizer.prompt(prompt)))
    if room is not None and room < max_tokens:
        log.info(f"note: {loaded.path} has positions for at most {room:,} tokens after this prompt")


TRAIN = {"lm": train_lm}
USE = (generate, chat)
