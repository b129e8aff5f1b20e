"""`regard embed` and `regard search`."""

import logging
import sys
from pathlib import Path

log = logging.getLogger(__name__)


def embed(run: Path, *, out: Path) -> None:
    """Write a vector for each line of standard input.

    Parameters
    ----------
    run
        A sentence-transformers or Hugging Face folder of an encoder, the name of one in the local cache, or a run of
        `regard train fill` or `classify`.
    out
        File for the vectors: a NumPy array (.npy) with a row for each line.
    """
    import numpy as np

    from regard.core.errors import UserError
    from regard.core.files import atomic_file
    from regard.tasks.embed.embedding import Embedder
    from regard.tasks.inputs import read_lines

    if out.suffix != ".npy":
        raise UserError(f"--out: {out} must end in .npy")
    embedder = Embedder.load(run)
    vectors = embedder(read_lines())
    with atomic_file(out) as temporary, temporary.open("wb") as file:
        np.save(file, vectors)
    log.info(f"wrote {len(vectors):,} vectors of {embedder.width} numbers to {out}")


def search(run: Path, texts: Path, *, count: int = 5) -> None:
    """Print the lines of a file that are nearest in meaning to each line of standard input.

    The search is exact: every line is compared. Each result is its cosine, its line number and the line, with tabs.

    Parameters
    ----------
    run
        A sentence-transformers or Hugging Face folder of an encoder, the name of one in the local cache, or a run of
        `regard train fill` or `classify`.
    texts
        File with a text on each line.
    count
        Results for each query.
    """
    from regard.core.errors import UserError
    from regard.tasks.embed.embedding import Embedder
    from regard.tasks.embed.nearest import nearest
    from regard.tasks.inputs import read_lines

    try:
        lines = texts.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise UserError(f"{texts}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise UserError(f"{texts}: is not UTF-8") from None
    numbers = [number for number, line in enumerate(lines) if line.strip()]
    if not numbers:
        raise UserError(f"{texts}: holds no texts")
    embedder, queries = Embedder.load(run), read_lines()
    results = nearest(embedder([lines[number] for number in numbers]), embedder(queries), count)
    for query, hits in zip(queries, results, strict=True):
        if len(queries) > 1:
            sys.stdout.write(f"{query}\n")
        for hit in hits:
            sys.stdout.write(f"{hit.score:.4f}\t{numbers[hit.row] + 1}\t{lines[numbers[hit.row]]}\n")


USE = (embed, search)
