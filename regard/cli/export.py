"""`regard export`: a run in the format of another program."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from regard.cli.app import app
from regard.export import format_names

if TYPE_CHECKING:
    FormatName = str
else:
    FormatName = Literal[format_names()]  # the union of formats is the list of choices


@app.command
def export(
    run: Path,
    *,
    to: FormatName,
    out: Path,
    dtype: Literal["float32", "bfloat16", "float16", "q8_0"] | None = None,
    runtime: Path | None = None,
    max_shard_size: str | None = None,
) -> None:
    """Export a run or a fitted table to the format of another program.

    Parameters
    ----------
    run
        Run folder of `regard train` or `regard fit`, or a Hugging Face folder. Where a format does not have a part of
        the model, the part is named, with the options of `regard train` that leave it out.
    to
        The format: a file for llama.cpp (gguf), a page for browsers (html), a folder for transformers (huggingface),
        graphs for onnxruntime with a script that uses them (onnx), the adapter of a run alone (peft), or programs of
        torch.export (torch).
    out
        New folder to write; for gguf and html a file.
    dtype
        Of the matrices, for gguf; float32 unless given.
    runtime
        For html: folder of the npm package onnxruntime-web; node_modules/onnxruntime-web unless given.
    max_shard_size
        For huggingface: the largest file of weights, such as 5GB; larger weights are written as several files.
    """
    from regard.export import export as write
    from regard.export import named_format
    from regard.loading import load

    folder = None if runtime is None else str(runtime)
    chosen = named_format(to, dtype=dtype, runtime=folder, max_shard_size=max_shard_size)
    print(f"wrote {out}: {write(load(run), chosen, out)}")
