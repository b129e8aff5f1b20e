"""The page with its data as one file, which opens from a disk and asks nobody.

Modules are joined in the order in which they import each other, each in a function of its own, as names are a module's
own too. Script and style are allowed by their digest, and nothing else is allowed at all.
"""

import base64
import hashlib
import json
import re
from typing import Any
from urllib.parse import urlencode

from regard.core.errors import UserError
from regard.view.answers import Desk
from regard.view.page import page_files
from regard.view.recording import Given

LARGEST = 64 * 2**20  # bytes of data in a file that a browser still opens with ease
IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js";$', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.MULTILINE)


def export_page(desk: Desk, given: Given | None) -> str:
    """The page of these runs; with `given` also what each of them answers and looks at."""
    files = {name: data.decode("utf-8") for name, data in page_files().items()}
    script, style = joined(files, "main"), files["style.css"]
    data = json.dumps(all_answers(desk, given), ensure_ascii=False).replace("<", "\\u003c")
    if len(data) > LARGEST:
        raise UserError(f"the file would have {len(data):,} bytes, more than {LARGEST:,}: give a shorter input")
    policy = (
        f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(style)}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>'
    page = files["index.html"]
    page = page.replace('<link rel="stylesheet" href="page/style.css">', head)
    kept = f'<script type="application/json" id="kept">{data}</script>\n<script type="module">{script}</script>'
    return page.replace('<script type="module" src="page/main.js"></script>', kept)


def joined(files: dict[str, str], name: str, seen: set[str] | None = None) -> str:
    """A module after those that it imports, as one script."""
    seen = set() if seen is None else seen
    if name in seen:
        return ""
    seen.add(name)
    text = files[f"{name}.js"]
    before = "".join(joined(files, other, seen) for _, other in IMPORT.findall(text))
    exports = ", ".join(own for _, own in EXPORT.findall(text))
    own = EXPORT.sub(r"\1", IMPORT.sub(r"const \1 = module_\2;", text))
    return f"{before}const module_{name} = (() => {{\n{own}return {{ {exports} }};\n}})();\n"


def digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def all_answers(desk: Desk, given: Given | None) -> dict[str, Any]:
    """Every answer that the page will want, by the path that it would ask the server for."""
    told = desk.describe()
    answers: dict[str, Any] = {"api/runs": told}
    for number, run in enumerate(told["runs"]):
        start = f"api/runs/{number}"
        answers[f"{start}/training"] = desk.training(number)
        if run["problem"]:
            continue
        try:
            answers[f"{start}/positions"] = desk.positions(number)
        except UserError as error:  # its weights cannot be read, which is found out here
            run |= {"problem": str(error), "kind": None}
            continue
        own = given
        if own is None and run["kind"] == "row":  # what the served page begins with
            own = Given(row={column["name"]: column["value"] for column in run["columns"]})
        if own is None or run["kind"] is None or not own.suits(run["kind"]):
            continue
        answers[f"{start}/record"] = found = desk.record(number, own)
        if found["kind"] == "looks":
            answers |= recorded_answers(desk, found)
    return answers


def recorded_answers(desk: Desk, found: dict[str, Any]) -> dict[str, Any]:
    number = found["id"]
    size = desk.recording(number).bytes * 4 // 3
    if size > LARGEST:
        raise UserError(f"its patterns alone would take {size:,} bytes, more than {LARGEST:,}: give a shorter input")
    start = f"api/recordings/{number}"
    answers = {f"{start}/overview": desk.overview(number)}
    for look in found["looks"]:
        for head in range(look["heads"]):
            answers[f"{start}/head?{urlencode({'look': look['name'], 'head': head})}"] = desk.head(
                number, look["name"], head
            )
    if desk.recording(number).seen is not None:
        answers |= image_answers(desk, number)
    across = [look for look in found["looks"] if look["across"]]
    for name in (None, *(look["name"] for look in across)) if across else ():
        for which in (None, *range(across[0]["heads"])):
            asked = {"look": name, "head": which}
            query = urlencode({key: value for key, value in asked.items() if value is not None})
            answers[f"{start}/alignment{'?' if query else ''}{query}"] = desk.alignment(number, name, which)
    return answers


def image_answers(desk: Desk, number: int) -> dict[str, Any]:
    start, seen = f"api/recordings/{number}", desk.seen(number)
    answers = {f"{start}/image": seen}
    for look in seen["looks"]:
        name = look["name"]
        for head in (None, *range(look["heads"])):
            query = urlencode({"look": name} if head is None else {"look": name, "head": head})
            answers[f"{start}/patches?{query}"] = desk.patches(number, name, head)
        if seen["rolls"]:
            answers[f"{start}/rollout?{urlencode({'look': name})}"] = desk.rollout(number, name)
    return answers
