"""Results of verbs in files: JSON, whole or not at all, and refused before any work if they cannot be written."""

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regard.core.errors import ConfigError, UserError

JSON = (".json", ".jsonl")

logger = logging.getLogger("regard")


def check_out(out: Path | None, tables: bool = False, as_json: bool = True) -> bool:
    """Refuse a file that cannot be written; gives whether JSON is asked for. Some results can also be `tables`."""
    if out is None:
        return as_json
    if out.is_dir():
        raise UserError(f"--out {out}: is a folder")
    if out.suffix.lower() in JSON:
        return True
    if tables and not as_json:
        from regard.data.tables.files import check_written

        check_written(out)
        return False
    raise ConfigError(f"--out {out}: JSON is written to a file that ends in {' or '.join(JSON)}")


def count_rows(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows:,} rows"


def put_json(documents: Sequence[Any], out: Path | None = None) -> None:
    """One JSON object on each line, printed or written."""
    texts = [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in documents]
    if out is None:
        print("\n".join(texts))
        return
    from regard.core.files import write_text

    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_text(out, "".join(f"{text}\n" for text in texts))
    except OSError as error:
        raise UserError(f"{out}: cannot be written ({error.strerror})") from None
    logger.info("wrote %s", out)
