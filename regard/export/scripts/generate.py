"""Continue a text with a language model in ONNX. `python predict.py "Once upon"` needs onnxruntime and tokenizers."""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

HERE = Path(__file__).parent
SETTINGS = json.loads((HERE / "regard.json").read_text(encoding="utf-8"))
SESSION = onnxruntime.InferenceSession(HERE / "model.onnx")
TOKENIZER = Tokenizer.from_file(str(HERE / "tokenizer.json"))
TOKENIZER.encode_special_tokens = True  # "<s>" in a text is text


def generate(tokens: list[int], max_tokens: int) -> list[int]:
    """The likeliest next token, again and again, until one that ends a text."""
    state = {
        each.name: np.zeros([size if isinstance(size, int) else int(size == "batch") for size in each.shape], "float32")
        for each in SESSION.get_inputs()
        if each.name.startswith("past")
    }
    names = {each.name for each in SESSION.get_inputs()}
    outputs = [each.name for each in SESSION.get_outputs()]
    new, read = tokens, 0
    written: list[int] = []
    while len(written) < max_tokens:
        read += len(new)
        feeds = {
            "input_ids": np.array([new]),
            "attention_mask": np.ones((1, read), "int64"),
            "position_ids": np.arange(read - len(new), read)[None],
        }
        result = dict(
            zip(outputs, SESSION.run(None, {k: v for k, v in feeds.items() if k in names} | state), strict=True)
        )
        state = {name.replace("present", "past_key_values" if name.count(".") > 1 else "past"): result[name]
                 for name in outputs[1:]}  # fmt: skip
        new = [int(result["logits"][0, -1].argmax())]
        if new[0] in SETTINGS["ends"]:
            break
        written += new
    return written


def predict(texts: list[str], max_tokens: int = SETTINGS["max_tokens"]) -> list[str]:
    """What follows each text, or the answer to it."""
    answers = []
    for text in texts:
        read = TOKENIZER.encode(text, add_special_tokens=False).ids[: SETTINGS["max_length"]]
        tokens = [*SETTINGS["before"], *read, *SETTINGS["after"]] or SETTINGS["empty"]
        written = generate(tokens, max_tokens)
        context = [] if SETTINGS["after"] else tokens[-8:]  # some tokenizers drop the space that a text begins with
        before, both = (TOKENIZER.decode(ids) for ids in (context, [*context, *written]))
        answers.append(both[len(before) :] if both.startswith(before) else TOKENIZER.decode(written))
    return answers


if __name__ == "__main__":
    print(*predict(sys.argv[1:] or sys.stdin.read().splitlines()), sep="\n")
