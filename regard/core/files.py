"""Atomic files and folders: written under a temporary name, synced, renamed, and checked when read."""

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.core.errors import UserError
from regard.core.system import rename_folder, sync


def write_text(path: Path, text: str) -> None:
    """Replace a text file atomically."""
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """A temporary path to write to; it replaces `path` if the block succeeds, and is removed otherwise."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with explain_full_disk(path):
            yield temporary
            sync(temporary)
        temporary.replace(path)
        sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """A temporary folder that becomes `path`, with a manifest of its files, if the block succeeds."""
    with complete_folder(path) as temporary:
        yield temporary
        digests = {file.name: sha256(file) for file in sorted(temporary.iterdir())}
        (temporary / MANIFEST).write_text(json.dumps(digests, indent=1), encoding="utf-8")


@contextmanager
def complete_folder(path: Path) -> Iterator[Path]:
    """A temporary folder of files that becomes `path` if the block succeeds; an empty folder is replaced."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    temporary.mkdir(parents=True)
    try:
        with explain_full_disk(path):
            yield temporary
            for file in temporary.iterdir():
                sync(file)
            sync(temporary)
        rename_folder(temporary, path)
        sync(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


MANIFEST = "manifest.json"


def check_folder(path: Path, needed: Iterable[str]) -> None:
    """Raise a UserError that names the file if one is missing or differs from the manifest."""
    digests = read_json(path / MANIFEST)
    for name in dict.fromkeys((*needed, *digests)):
        file = path / name
        if not file.is_file() or file.is_symlink():
            raise UserError(f"{file}: is missing")
        if sha256(file) != digests.get(name):
            raise UserError(f"{file}: is damaged (its sha256 differs from the manifest)")


def remove_folder(path: Path) -> None:
    """Remove a folder atomically: an interruption leaves no incomplete folder under its name."""
    renamed = path.with_name(f".{path.name}.{os.getpid()}.part")
    path.rename(renamed)
    shutil.rmtree(renamed)


def read_json(path: Path) -> Mapping[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: is not JSON ({str(error).splitlines()[0]})") from None
    if not isinstance(data, dict):
        raise UserError(f"{path}: is not a JSON object")
    return data


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def explain_full_disk(path: Path) -> Iterator[None]:
    """Turn the errors by which libraries report a full disk into one line."""
    try:
        yield
    except Exception as error:
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        if full or "No space left" in str(error) or "os error 28" in str(error):
            free = shutil.disk_usage(path.parent).free
            raise UserError(f"{path}: the disk is full ({free:,} bytes are free); nothing was replaced") from error
        raise
