"""What a browser reads: one page, one style sheet, and small modules without a build step."""

from pathlib import Path

FOLDER = Path(__file__).parent
KINDS = (".html", ".css", ".js", ".svg")


def page_files() -> dict[str, bytes]:
    """The files of the page by name. Read once: no name that a request brings ever reaches the disk."""
    found = sorted(file for file in FOLDER.iterdir() if file.suffix in KINDS and file.is_file())
    return {file.name: file.read_bytes() for file in found if not file.is_symlink()}
