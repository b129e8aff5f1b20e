"""A sample of a language model: how it continues a fixed prompt, made the same way at every evaluation."""

import numpy as np
from torch import nn

from regard.decode import Sampling
from regard.tasks.lm.generate import generate
from regard.text import Tokenizer
from regard.train import Sample

PROMPT, TOKENS = 16, 40  # of the prompt, and at most of what is written


def continuation_sample(tokenizer: Tokenizer, tokens: np.ndarray, length: int) -> Sample:
    """How a language model continues the first words of a text; a bar stands where its own begin."""
    [prompt] = tokenizer.decode([tokens[: max(1, min(PROMPT, length // 2))].tolist()])
    sampling = Sampling(temperature=0.8, seed=0)

    def sample(model: nn.Module) -> str:
        return f"{prompt}│{''.join(generate(model, tokenizer, prompt, TOKENS, sampling))}"

    return sample
