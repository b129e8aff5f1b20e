"""The page: one HTML file, one style sheet, and JavaScript modules without a build step."""

from pathlib import Path

FOLDER = Path(__file__).parent
SUFFIXES = (".html", ".css", ".js", ".svg")


def page_files() -> dict[str, bytes]:
    """The files of the page by name, read once: names in requests never reach the file system."""
    files = sorted(file for file in FOLDER.iterdir() if file.suffix in SUFFIXES and file.is_file())
    return {file.name: file.read_bytes() for file in files if not file.is_symlink()}
