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
sys.path.insert(0, str(HERE))
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
    weights = SETTINGS.get("weights", {"network": 1.0})
    scores = weights["network"] * logits
    return softmax(scores + weights["ngrams"] * ngram_scores(texts) if "ngrams" in SETTINGS else scores)


def ngram_scores(texts: list[str]) -> np.ndarray:
    """The log-probabilities of the linear model of n-grams, TF-IDF weights of words and pieces of words."""
    from ngrams import ngram_buckets, normalise  # the file beside this one

    model, settings = np.load(HERE / "ngrams.npz"), SETTINGS["ngrams"]
    longest, size = settings["max_characters"], 2 << settings["bits"]
    marked = [normalise(f"⟪ {text[:longest]} ⟫", longest + 4) for text in texts]
    row, bucket = ngram_buckets(marked, settings["bits"])
    cells, counts = np.unique(row * size + bucket, return_counts=True)
    row, bucket = cells // size, cells % size
    feature = np.searchsorted(model["buckets"], bucket)
    known = model["buckets"][np.minimum(feature, len(model["buckets"]) - 1)] == bucket
    row, feature = row[known], feature[known]
    value = (1 + np.log(counts[known])) * model["idf"][feature]
    half = 2 * row + (bucket[known] >= size // 2)  # pieces and words each have length one
    value = value / np.sqrt(np.bincount(half, value**2, 2 * len(texts)))[half]
    scores = np.tile(model["bias"], (len(texts), 1))
    np.add.at(scores, row, value[:, None].astype("float32") * model["weight"][feature])
    return np.log((1 - settings["floor"]) * softmax(scores) + settings["floor"] / scores.shape[1])


def softmax(scores: np.ndarray) -> np.ndarray:
    odds = np.exp(scores - scores.max(-1, keepdims=True))
    return odds / odds.sum(-1, keepdims=True)


def predict(texts: list[str]) -> list[str]:
    return [SETTINGS["labels"][place] for place in probabilities(texts).argmax(-1)]


if __name__ == "__main__":
    print(*predict(sys.argv[1:] or sys.stdin.read().splitlines()), sep="\n")
