"""Predict rows of a table in ONNX: `python predict.py rows.csv` prints a prediction for each row, as CSV.

It needs onnxruntime. Training rows are not needed: what the model knows of them is inside the graph.
"""

import csv
import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime

HERE = Path(__file__).parent
SETTINGS = json.loads((HERE / "regard.json").read_text(encoding="utf-8"))
SESSION = onnxruntime.InferenceSession(HERE / "model.onnx")
TOGETHER = 64  # rows, which bounds memory


def spelled(cell: object) -> str:
    """A category as it is looked up: True, "true" and 3, 3.0, "3" are the same."""
    text = str(cell).strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    try:
        return str(int(float(text))) if float(text).is_integer() else str(float(text))
    except (ValueError, OverflowError):
        return text


def numbers(column: dict, cells: list) -> list[np.ndarray]:
    """What the graph reads of a column: a number, the code of a category, or the parts of a date; NaN if missing."""
    known = np.array([cell is not None and cell == cell and str(cell) != "" for cell in cells])
    values = np.full(len(cells), np.nan)
    if column["kind"] == "date":
        dates = np.array(
            [cell if there else "NaT" for cell, there in zip(cells, known, strict=True)], dtype="datetime64[us]"
        )
        days = np.where(known, (dates - np.datetime64("1970-01-01")) / np.timedelta64(1, "D"), np.nan)
        months = np.where(known, dates.astype("datetime64[M]").astype(float), np.nan)
        parts = [days, 1970 + months // 12, 1 + months % 12, (np.floor(days) + 3) % 7]
        return [*parts, days - np.floor(days)] if column["has_time"] else parts
    categories = list(enumerate(column["categories"]))[::-1]  # of equal spellings the first one counts
    codes = {spelled(category): code for code, category in categories}
    codes |= {str(category): code for code, category in categories}  # "01067" and "1067" are two categories
    for row in np.flatnonzero(known if column["filled"] else []):
        cell = cells[row]
        values[row] = codes.get(str(cell), codes.get(spelled(cell), len(categories))) if codes else float(cell)
    return [values]


def predict(rows: list[dict]) -> list[np.ndarray]:
    """For each target: probabilities by row and class; or by row the mean, then the quantiles."""
    cells = {column["name"]: [row.get(column["name"]) for row in rows] for column in SETTINGS["columns"]}
    encoded = [part for column in SETTINGS["columns"] for part in numbers(column, cells[column["name"]])]
    values = np.stack(encoded, 1).astype("float32")
    parts = [SESSION.run(None, {"values": values[at : at + TOGETHER]}) for at in range(0, len(values), TOGETHER)]
    return [np.concatenate(each) for each in zip(*parts, strict=True)]


def answers(rows: list[dict]) -> list[dict]:
    """A prediction for each row and target, as a table has it: the likeliest class, or the mean."""
    result: list[dict] = [{} for _ in rows]
    for target, output in zip(SETTINGS["targets"], predict(rows), strict=True):
        for row, values in zip(result, output, strict=True):
            row[target["name"]] = target["classes"][values.argmax()] if "classes" in target else float(values[0])
    return result


if __name__ == "__main__":
    with Path(sys.argv[1]).open(newline="", encoding="utf-8") as file:
        predicted = answers(list(csv.DictReader(file)))
    writer = csv.DictWriter(sys.stdout, [target["name"] for target in SETTINGS["targets"]])
    writer.writeheader()
    writer.writerows(predicted)
