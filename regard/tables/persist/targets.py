"""Loading the targets of a fitted table: their names and classes."""

import re

import numpy as np

from regard.tables.encode.target import MAX_CLASSES
from regard.tables.persist.schema import Section, shown

DTYPES = re.compile(r"object|str|bool|u?int(8|16|32|64)|float(16|32|64)|datetime64\[(Y|M|D|h|m|s|ms|us|ns)\]")
_LABEL_TYPES: dict[str, tuple[type, ...]] = {
    "object": (str, bool, int, float),
    "str": (str,),
    "bool": (bool,),
    "int": (int,),
    "uint": (int,),
    "float": (float, int),
    "datetime": (str,),
}


def read_target(section: Section, classifies: bool) -> tuple[str | None, np.ndarray]:
    """The name and the class labels of a target; a numeric one has none."""
    name, dtype, labels = (
        section.optional_text("name"),
        section.text("dtype", 20),
        section.labels("labels", MAX_CLASSES),
    )
    section.done()
    if classifies != bool(labels):
        raise section.error("labels", "must not be empty" if classifies else "must be empty for numbers")
    if not DTYPES.fullmatch(dtype):
        raise section.error("dtype", f"must be object, str, bool, int…, uint… or float…, not {shown(dtype)}")
    if dtype == "str" and len(labels) * max(len(str(one)) for one in labels) > 10**7:
        raise section.error("labels", "are too long")
    allowed = _LABEL_TYPES[re.match("[a-z]+", dtype)[0]]  # type: ignore[index]
    if not all(isinstance(one, allowed) and (bool in allowed or not isinstance(one, bool)) for one in labels):
        raise section.error("labels", f"do not fit the dtype {dtype}")
    try:
        with np.errstate(over="raise"):
            array = np.array([*labels, None], dtype=object)[:-1].astype(dtype)
    except (OverflowError, FloatingPointError, ValueError):
        raise section.error("labels", f"do not fit the dtype {dtype}") from None
    if len(set(array.tolist())) < len(labels):
        raise section.error("labels", f"are not distinct as {dtype}")
    return name, array
