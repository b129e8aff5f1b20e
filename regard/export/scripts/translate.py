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
sys.path.insert(0, str(HERE))
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
    """The target of each text; a summariser may say a span of the text instead, where that is likely to be better."""
    if "extractor" not in SETTINGS:
        return write(texts, max_tokens)[0]
    from spans import best_span  # the file beside this one

    model, choice = SETTINGS["extractor"], SETTINGS["choice"]
    weight = np.load(HERE / "extractor.npz")["weight"]
    spans = [best_span(text, weight, model["mean"], model["max_words"]) for text in texts]
    written, probability = write(texts, max_tokens)
    expected = choice["constant"] + choice["network"] * probability
    better = expected > choice["extractor"] * np.array([score for _, score in spans])
    return [text if network else span for text, (span, _), network in zip(written, spans, better, strict=True)]


def write(texts: list[str], max_tokens: int) -> tuple[list[str], np.ndarray]:
    """The likeliest target of each text, token by token, and the mean probability of its tokens; all texts at once."""
    rows = [TOKENIZER.encode(text, add_special_tokens=False).ids[: SETTINGS["max_length"]] for text in texts]
    rows = [[*row, SETTINGS["end"]] for row in rows]
    longest = max(map(len, rows))
    source = np.array([[*row, *[SETTINGS["pad"]] * (longest - len(row))] for row in rows])
    shown = np.array([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    state = run(ENCODER, {"input_ids": source, "attention_mask": shown})
    state |= {"encoder_hidden_states": state["last_hidden_state"], "encoder_attention_mask": shown}
    state |= {"encoder_input_ids": source}  # for a pointer
    for each in DECODER.get_inputs():
        if ".decoder." in each.name:  # nothing has been written yet
            state[each.name] = np.zeros((len(rows), each.shape[1], 0, each.shape[3]), "float32")
    lengths, sums = np.zeros(len(rows)), np.zeros(len(rows))
    written, new = np.zeros((len(rows), 0), "int64"), np.full((len(rows), 1), SETTINGS["start"])
    while written.shape[1] < max_tokens and not (written == SETTINGS["end"]).any(1).all():
        state |= run(DECODER, state | {"input_ids": new})
        new = state["logits"][:, -1:].argmax(-1)
        going_on = ~(written == SETTINGS["end"]).any(1)
        scores = state["logits"][:, -1].astype("float64")
        best = scores.max(-1)
        sums -= going_on * np.log(np.exp(scores - best[:, None]).sum(-1))
        lengths += going_on
        written = np.concatenate([written, new], 1)
    ended = [row[: row.index(SETTINGS["end"])] if SETTINGS["end"] in row else row for row in written.tolist()]
    return TOKENIZER.decode_batch(ended), np.exp(sums / np.maximum(lengths, 1))


if __name__ == "__main__":
    print(*predict(sys.argv[1:] or sys.stdin.read().splitlines()), sep="\n")
