"""One page that runs the model in a browser, opened from disk, without a server or a network.

The runtime is onnxruntime-web, taken from its npm package at export: 14 MB of WebAssembly, under the MIT licence. It is
no part of regard, whose wheel would be twice as large with it, and which need not follow its releases.
"""

import base64
import gzip
import json
import os
import tempfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, ClassVar

from regard.core.errors import ConfigError, UserError
from regard.core.extras import require
from regard.core.files import write_text
from regard.export.base import ExportFormat, Subject

if TYPE_CHECKING:
    from regard.text import Tokenizer

KINDS = ("table", "generate", "image")
RUNTIME, WASM = "ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm"
# How GPT-2 splits texts before merging.
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


@dataclass(frozen=True)
class HTML(ExportFormat):
    runtime: str | None = None  # folder of the npm package onnxruntime-web; None: node_modules here
    ending: ClassVar[str] = ".html"

    def write(self, subject: Subject, out: Path) -> str:
        require("onnx", "exporting to a page")
        from regard.export.beside import describe
        from regard.export.graphs import graphs_of
        from regard.export.onnx import write_graph

        settings = describe(subject)
        kind = settings["task"]
        if kind not in KINDS:
            raise ConfigError(
                f"--to html: a model that does {kind} has no page; language models, images and tables have"
            )
        if kind == "generate":
            settings["tokenizer"] = _tokenizer(subject.require_tokenizer("a page could not read text"))
        data = self._runtime()
        [graph] = graphs_of(subject)
        with tempfile.TemporaryDirectory() as folder:
            write_graph(graph, Path(folder) / "model.onnx")
            data["model"] = (Path(folder) / "model.onnx").read_bytes()
        out.parent.mkdir(parents=True, exist_ok=True)
        write_text(out, _page(kind, settings, data, out.stem))
        return "open it in a browser; it needs no network"

    def _runtime(self) -> dict[str, bytes]:
        named = self.runtime or os.environ.get("REGARD_ONNXRUNTIME_WEB") or "node_modules/onnxruntime-web"
        folder = Path(named) / "dist" if (Path(named) / "dist").is_dir() else Path(named)
        parts = {"runtime": folder / RUNTIME, "wasm": folder / WASM}
        if missing := [file for file in parts.values() if not file.is_file()]:
            raise UserError(
                f"{missing[0]}: is missing; `npm install onnxruntime-web` puts it into node_modules here, or --runtime "
                "names the folder of that package"
            )
        return {name: file.read_bytes() for name, file in parts.items()}


def _tokenizer(tokenizer: "Tokenizer") -> dict[str, Any]:
    """The tokenizer as the page implements it: characters, or byte-level BPE split as in GPT-2."""
    data = json.loads(tokenizer.engine.to_str())
    special = set(tokenizer.special)
    pieces = [None if n in special else tokenizer.engine.id_to_token(n) for n in range(tokenizer.vocab)]
    unknown = next((n for n in special if "unk" in (tokenizer.engine.id_to_token(n) or "")), tokenizer.end)
    if data["model"]["type"] == "WordLevel":
        return {"kind": "characters", "pieces": pieces, "unknown": unknown}
    splitter = data["pre_tokenizer"] or {}
    if data["model"]["type"] != "BPE" or splitter.get("type") != "ByteLevel" or splitter.get("add_prefix_space"):
        raise ConfigError("--to html: this tokenizer has no page; train with --data.tokenizer BPE or Characters")
    merges = [merge.split(" ") if isinstance(merge, str) else merge for merge in data["model"]["merges"]]
    return {"kind": "bytes", "pieces": pieces, "merges": merges, "unknown": unknown, "pattern": GPT2}


def _page(kind: str, settings: dict[str, Any], data: dict[str, bytes], title: str) -> str:
    page = files("regard.export") / "page"
    read = {
        name: (page / name).read_text(encoding="utf-8")
        for name in ("index.html", "style.css", "start.js", f"{kind}.js")
    }
    packed = {name: base64.b64encode(gzip.compress(each, 6)).decode() for name, each in data.items()}
    tag = '<script type="application/octet-stream" id="{}">{}</script>'
    return Template(read["index.html"]).substitute(
        title=_escaped(title),
        style=read["style.css"],
        settings=json.dumps(settings).replace("<", "\\u003c"),  # no text can end the script
        data="\n".join(tag.format(*each) for each in packed.items()),
        script=read["start.js"] + read[f"{kind}.js"],
    )


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
