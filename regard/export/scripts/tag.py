"""Label each word of sentences with an encoder in ONNX: `python predict.py < lines.txt` prints word/label pairs.

It needs onnxruntime and tokenizers.
"""

import json
import re
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
WORD = re.compile(SETTINGS["word"])


def predict(sentences: list[str]) -> list[list[tuple[str, str]]]:
    """The words of each sentence with their labels."""
    return [list(zip(words, labels(words), strict=True)) for words in map(WORD.findall, sentences)]


def labels(words: list[str]) -> list[str]:
    """A word has the label of its first token; a sentence that is too long is read in parts."""
    result: list[str] = []
    while len(result) < len(words):
        rest, length = words[len(result) :], SETTINGS["max_length"] - 2
        text = " ".join(rest)
        encoding = TOKENIZER.encode(text, add_special_tokens=False)
        word_of = [number for number, word in enumerate(rest) for _ in range(len(word) + 1)]  # of each character
        first: dict[int, int] = {}
        for place, (start, end) in enumerate(encoding.offsets[:length], 1):
            characters = [at for at in range(start, end) if not text[at].isspace()]
            if characters:
                first.setdefault(word_of[characters[0]], place)
        row = [[SETTINGS["start"], *encoding.ids[:length], SETTINGS["end"]]]
        [logits] = SESSION.run(None, {"input_ids": np.array(row), "attention_mask": np.ones_like(row)})
        best = logits[0].argmax(-1)
        count = max(1, 1 + max(first, default=0))  # words that were read; one without a token takes the one before
        places = [first[max((n for n in first if n <= number), default=min(first))] for number in range(count)]
        result += [SETTINGS["labels"][best[place]] for place in places]
    return result


if __name__ == "__main__":
    for sentence in predict(sys.argv[1:] or sys.stdin.read().splitlines()):
        print(" ".join(f"{word}/{label}" for word, label in sentence))
