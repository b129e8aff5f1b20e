"""Translate or summarise lines with an encoder and a decoder in ONNX: `python predict.py < lines.txt`.

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
ENCODER = onnxruntime.InferenceSession(HERE / "encoder_model.onnx")
DECODER = onnxruntime.InferenceSession(HERE / "decoder_with_past_model.onnx")
TOKENIZER = Tokenizer.from_file(str(HERE / "tokenizer.json"))
TOKENIZER.encode_special_tokens = True  # "<s>" in a text is text


def run(session: onnxruntime.InferenceSession, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Outputs by name; what is present after one step is the past of the next."""
    wanted = {each.name: feeds[each.name] for each in session.get_inputs()}
    result = dict(zip((each.name for each in session.get_outputs()), session.run(None, wanted), strict=True))
    return {
        name.replace("present", "past_key_values" if name.count(".") > 1 else "past"): x for name, x in result.items()
    }


def predict(texts: list[str], max_tokens: int = SETTINGS["max_tokens"]) -> list[str]:
    """The likeliest target of each text, token by token; all texts at once."""
    rows = [TOKENIZER.encode(text, add_special_tokens=False).ids[: SETTINGS["max_length"]] for text in texts]
    rows = [[*row, SETTINGS["end"]] for row in rows]
    longest = max(map(len, rows))
    source = np.array([[*row, *[SETTINGS["pad"]] * (longest - len(row))] for row in rows])
    shown = np.array([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    state = run(ENCODER, {"input_ids": source, "attention_mask": shown})
    state |= {"encoder_hidden_states": state["last_hidden_state"], "encoder_attention_mask": shown}
    for each in DECODER.get_inputs():
        if ".decoder." in each.name:  # nothing has been written yet
            state[each.name] = np.zeros((len(rows), each.shape[1], 0, each.shape[3]), "float32")
    written, new = np.zeros((len(rows), 0), "int64"), np.full((len(rows), 1), SETTINGS["start"])
    while written.shape[1] < max_tokens and not (written == SETTINGS["end"]).any(1).all():
        state |= run(DECODER, state | {"input_ids": new})
        new = state["logits"][:, -1:].argmax(-1)
        written = np.concatenate([written, new], 1)
    ended = [row[: row.index(SETTINGS["end"])] if SETTINGS["end"] in row else row for row in written.tolist()]
    return TOKENIZER.decode_batch(ended)


if __name__ == "__main__":
    print(*predict(sys.argv[1:] or sys.stdin.read().splitlines()), sep="\n")
