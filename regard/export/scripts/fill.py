"""Fill in [MASK] with a masked language model in ONNX: `echo "the [MASK] sat" | python predict.py`.

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
MARKS_WORDS = SETTINGS["marks_words"]  # whether tokens say that a space precedes them


def predict(texts: list[str]) -> list[str]:
    return [fill(text) for text in texts]


def fill(text: str) -> str:
    """The text with the most probable words, the most certain first."""
    *before, last = text.split("[MASK]")
    parts = [part.rstrip() if MARKS_WORDS else part for part in before] + [last]
    row, places = [SETTINGS["start"]], []
    for number, part in enumerate(parts):
        if number:
            places.append(len(row))
            row.append(SETTINGS["mask"])
        row += TOKENIZER.encode(part, add_special_tokens=False).ids
    row.append(SETTINGS["end"])
    spaces = [part[-1:].isspace() and bool(part.strip() or number) for number, part in enumerate(before)]
    allowed = {
        place: SETTINGS["begins" if MARKS_WORDS and space else "fits"]
        for place, space in zip(places, spaces, strict=True)
    }
    while allowed:
        [logits] = SESSION.run(None, {"input_ids": np.array([row]), "attention_mask": np.ones((1, len(row)), "int64")})
        best = {place: likeliest(logits[0, place], ids) for place, ids in allowed.items()}
        surest = max(best, key=lambda place: best[place][0])
        row[surest] = best[surest][1]
        del allowed[surest]
    filled = before[0] if before else last
    for place, part in zip(places, [*before[1:], last], strict=True):
        word, joins = in_text(row[place - 1], row[place])
        filled = (filled.rstrip() if joins and MARKS_WORDS else filled) + word + part
    return filled


def likeliest(logits: np.ndarray, ids: list[int]) -> tuple[float, int]:
    """The probability of the best of these tokens, and the token."""
    odds = np.exp(logits[ids] - logits[ids].max())
    return float(odds.max() / odds.sum()), ids[int(odds.argmax())]


def in_text(before: int, token: int) -> tuple[str, bool]:
    """The text of a token, and whether it joins what stands before it without a space."""
    [previous, both, alone] = TOKENIZER.decode_batch([[before], [before, token], [token]])
    if not previous or not both.startswith(previous):
        continues = alone.startswith("##") and len(alone) > 2
        return (alone.strip(), False) if MARKS_WORDS and not continues else (alone.removeprefix("##"), True)
    text = both[len(previous) :]
    return (text.strip(), False) if MARKS_WORDS and text[:1].isspace() else (text, True)


if __name__ == "__main__":
    print(*predict(sys.argv[1:] or sys.stdin.read().splitlines()), sep="\n")
