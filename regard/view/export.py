"""The page with its data as one HTML file that works offline.

Modules are joined in the order of their imports, each in a function of its own so that names stay private. The content
security policy allows the script and the style by their digests, and nothing else.
"""

import base64
import hashlib
import json
import re
from typing import Any
from urllib.parse import urlencode

from regard.core.errors import UserError
from regard.tasks.recording import ViewInput
from regard.view.page import page_files
from regard.view.session import Session

MAX_BYTES = 64 * 2**20  # of data in a file that browsers still open easily
IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js";$', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.MULTILINE)


def export_page(session: Session, input: ViewInput | None) -> str:
    """The page of these runs, with their answers to `input` if there is one."""
    files = {name: data.decode("utf-8") for name, data in page_files().items()}
    script, style = join_modules(files, "main"), files["style.css"]
    data = json.dumps(all_answers(session, input), ensure_ascii=False).replace("<", "\\u003c")
    if len(data) > MAX_BYTES:
        raise UserError(f"the file would have {len(data):,} bytes, more than {MAX_BYTES:,}; use a shorter input")
    policy = (
        f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(style)}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>'
    page = files["index.html"]
    page = page.replace('<link rel="stylesheet" href="page/style.css">', head)
    scripts = f'<script type="application/json" id="data">{data}</script>\n<script type="module">{script}</script>'
    return page.replace('<script type="module" src="page/main.js"></script>', scripts)


def join_modules(files: dict[str, str], name: str, done: set[str] | None = None) -> str:
    """A module after those that it imports, as one script."""
    done = set() if done is None else done
    if name in done:
        return ""
    done.add(name)
    text = files[f"{name}.js"]
    imported = "".join(join_modules(files, other, done) for _, other in IMPORT.findall(text))
    exports = ", ".join(exported for _, exported in EXPORT.findall(text))
    body = EXPORT.sub(r"\1", IMPORT.sub(r"const \1 = module_\2;", text))
    return f"{imported}const module_{name} = (() => {{\n{body}return {{ {exports} }};\n}})();\n"


def digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def all_answers(session: Session, input: ViewInput | None) -> dict[str, Any]:
    """Every answer that the page can need, by the path under which it would ask the server."""
    runs = session.describe()
    answers: dict[str, Any] = {"api/runs": runs}
    for number, run in enumerate(runs["runs"]):
        start = f"api/runs/{number}"
        answers[f"{start}/training"] = session.training(number)
        if run["problem"]:
            continue
        try:
            answers[f"{start}/positions"] = session.positions(number)
        except UserError as error:  # the weights, loaded here for the first time, cannot be read
            run |= {"problem": str(error), "kind": None}
            continue
        row_input = input
        if row_input is None and run["kind"] == "row":  # the row with which the served page begins
            cells = {column["name"]: column["value"] for column in run["columns"]}
            row_input = ViewInput(row=cells, without=run["example"]["row"])
        if row_input is None or run["kind"] is None or not row_input.fits(run["kind"]):
            continue
        answers[f"{start}/record"] = recorded = session.record(number, row_input)
        if recorded["kind"] == "attention":
            answers |= recorded_answers(session, recorded)
    return answers


def recorded_answers(session: Session, recorded: dict[str, Any]) -> dict[str, Any]:
    number = recorded["id"]
    size = session.recording(number).bytes * 4 // 3
    if size > MAX_BYTES:
        raise UserError(f"the weights would take {size:,} bytes, more than {MAX_BYTES:,}; use a shorter input")
    start = f"api/recordings/{number}"
    answers = {f"{start}/overview": session.overview(number)}
    for one in recorded["maps"]:
        for head in range(one["heads"]):
            query = urlencode({"attention": one["name"], "head": head})
            answers[f"{start}/head?{query}"] = session.head(number, one["name"], head)
    if session.recording(number).image is not None:
        answers |= image_answers(session, number)
    if session.recording(number).family is not None:
        answers |= family_answers(session, number)
    cross = [one for one in recorded["maps"] if one["cross"]]
    for name in (None, *(one["name"] for one in cross)) if cross else ():
        for head in (None, *range(cross[0]["heads"])):
            chosen = {"attention": name, "head": head}
            query = urlencode({key: value for key, value in chosen.items() if value is not None})
            answers[f"{start}/alignment{'?' if query else ''}{query}"] = session.alignment(number, name, head)
    return answers


def image_answers(session: Session, number: int) -> dict[str, Any]:
    start, image = f"api/recordings/{number}", session.image(number)
    answers = {f"{start}/image": image}
    for one in image["maps"]:
        name = one["name"]
        for head in (None, *range(one["heads"])):
            query = urlencode({"attention": name} if head is None else {"attention": name, "head": head})
            answers[f"{start}/patches?{query}"] = session.patches(number, name, head)
        if image["has_rollout"]:
            answers[f"{start}/rollout?{urlencode({'attention': name})}"] = session.rollout(number, name)
    return answers


def family_answers(session: Session, number: int) -> dict[str, Any]:
    """Attention between residues as the mean over sequences; that of each sequence would make the file much larger."""
    start, family = f"api/recordings/{number}", session.family(number)
    answers = {f"{start}/family": family}
    for kind, read in (("rows", session.residues), ("columns", session.sequences)):
        for name, heads in family[kind].items():
            for head in (None, *range(heads)):
                query = urlencode({"attention": name} if head is None else {"attention": name, "head": head})
                answers[f"{start}/{'residues' if kind == 'rows' else 'sequences'}?{query}"] = read(number, name, head)
    return answers
