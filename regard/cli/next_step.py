"""What to type once a run is made."""

from pathlib import Path
from shlex import quote

from regard.tasks import (
    Classify,
    ClassifyImages,
    FillMasked,
    InContextTables,
    LanguageModel,
    Summarise,
    Task,
    Translate,
)

NEXT: dict[type, str] = {
    LanguageModel: 'regard generate {} --prompt "…"',
    Translate: "regard translate {} < LINES.txt",
    Summarise: "regard summarise {} < DOCUMENTS.txt",
    Classify: "regard classify {} < LINES.txt",
    ClassifyImages: "regard classify {} IMAGE.png",
    FillMasked: 'echo "… [MASK] …" | regard fill {}',
    InContextTables: "regard fit TABLE.csv --target COLUMN --out runs/table --weights {}",
}


def next_step(task: Task, out: Path) -> str | None:
    command = NEXT.get(type(task))
    return command and f"next: {command.format(quote(str(out)))}"
