"""Files that are whole or absent: written under a temporary name, synced, renamed, and checked when read."""

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


def write_text(path: Path, text: str) -> None:
    """Replace a text file in one move."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary name to write to, which takes `path`'s place when the block ends well and else vanishes."""
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
def whole_folder(path: Path) -> Iterator[Path]:
    """A temporary folder which becomes `path`, with a manifest of its files, when the block ends well."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    temporary.mkdir(parents=True)
    try:
        with explain_full_disk(path):
            yield temporary
            digests = {file.name: sha256(file) for file in sorted(temporary.iterdir())}
            (temporary / MANIFEST).write_text(json.dumps(digests, indent=1), encoding="utf-8")
            for file in temporary.iterdir():
                sync(file)
            sync(temporary)
        temporary.rename(path)
        sync(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


MANIFEST = "manifest.json"


def check_folder(path: Path, needed: Iterable[str]) -> None:
    """Every file of a whole folder is there and is what was written; else one line that names the damaged one."""
    digests = read_json(path / MANIFEST)
    for name in dict.fromkeys((*needed, *digests)):
        file = path / name
        if not file.is_file() or file.is_symlink():
            raise UserError(f"{file}: is missing")
        if sha256(file) != digests.get(name):
            raise UserError(f"{file}: is damaged (its sha256 is not the manifest's)")


def remove_folder(path: Path) -> None:
    """Remove a whole folder so that a kill in between leaves no part of it under its name."""
    doomed = path.with_name(f".{path.name}.{os.getpid()}.part")
    path.rename(doomed)
    shutil.rmtree(doomed)


def open_here(path: Path, flags: int) -> int:
    """A file of ours for writing, never one that a link leads to."""
    try:
        return os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UserError(f"{path}: is a link; regard writes only into the folder itself") from None
        raise


def read_json(path: Path) -> Mapping[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: is not JSON ({str(error).splitlines()[0]})") from None
    if not isinstance(data, dict):
        raise UserError(f"{path}: holds no JSON object")
    return data


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync(path: Path) -> None:
    """On the disk, not only in the system's memory: a power cut after this loses nothing."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def explain_full_disk(path: Path) -> Iterator[None]:
    """The many ways in which libraries say that a disk is full, as one line."""
    try:
        yield
    except Exception as error:
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        if full or "No space left" in str(error) or "os error 28" in str(error):
            free = shutil.disk_usage(path.parent).free
            raise UserError(f"{path}: the disk is full ({free:,} bytes are free); nothing was replaced") from error
        raise
