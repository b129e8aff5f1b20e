"""Predict the label of texts with an encoder in ONNX: `python predict.py < lines.txt` prints the label of each line.

It needs onnxruntime and tokenizers.
"""

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


def probabilities(texts: list[str]) -> np.ndarray:
    """The probability of each label, in the order of the settings, for each text."""
    rows = [TOKENIZER.encode(text, add_special_tokens=False).ids[: SETTINGS["max_length"] - 2] for text in texts]
    rows = [[SETTINGS["start"], *row, SETTINGS["end"]] for row in rows]
    longest = max(map(len, rows))
    tokens = np.array([[*row, *[SETTINGS["pad"]] * (longest - len(row))] for row in rows])
    shown = np.array([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    [logits] = SESSION.run(None, {"input_ids": tokens, "attention_mask": shown})
    odds = np.exp(logits - logits.max(-1, keepdims=True))
    return odds / odds.sum(-1, keepdims=True)


def predict(texts: list[str]) -> list[str]:
    return [SETTINGS["labels"][place] for place in probabilities(texts).argmax(-1)]


if __name__ == "__main__":
    print(*predict(sys.argv[1:] or sys.stdin.read().splitlines()), sep="\n")
