"""generation_config.json: how the makers of a model sample from it."""

from pathlib import Path
from typing import Any

from regard.interop.folder import has_file, read_json
from regard.interop.settings import Settings

FILE = "generation_config.json"


def read_generation(folder: Path) -> dict[str, Any]:
    """The settings of sampling that the file has, by our names; empty where it has none."""
    if not has_file(folder, FILE):
        return {}
    data = {key: value for key, value in read_json(folder, FILE).items() if value is not None}
    file, sampling = Settings(data, str(folder / FILE)), dict[str, Any]()
    if "do_sample" in data and not file.flag("do_sample", False):
        return {"temperature": 0.0}
    if "temperature" in data:
        sampling["temperature"] = file.number("temperature", None, low=0.0, high=100.0)
    if data.get("top_k"):  # 0: as many as there are
        sampling["top_k"] = file.integer("top_k", None, 2**31)
    if "top_p" in data and (share := file.number("top_p", None, low=1e-9, high=1.0)) < 1:
        sampling["top_p"] = share
    if "min_p" in data:
        sampling["min_p"] = file.number("min_p", None, low=0.0, high=1.0)
    if "repetition_penalty" in data:
        sampling["repetition_penalty"] = file.number("repetition_penalty", None, low=1e-3, high=1e3)
    return sampling
