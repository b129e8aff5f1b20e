"""What Unix and Windows do differently: locks, symbolic links, syncing, renaming folders, alarms, ending at once."""

import ctypes
import errno
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import current_thread, main_thread

from regard.core.errors import UserError

# Windows has neither flag. Its symbolic links need a privilege, and its handles are not inherited unless asked.
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
CLOSE_ON_EXEC = getattr(os, "O_CLOEXEC", 0)


def release_memory() -> None:
    """Give memory that is no longer used back to the system, where the C library keeps it for later (glibc)."""
    gc.collect()
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


if sys.platform == "win32":
    import msvcrt

    LOCKED_BYTE = 1 << 30  # beyond the contents, which others may then still read

    def try_lock(handle: int, *, shared: bool = False) -> bool:
        """Lock an open file until it is closed; False if another process holds it. Windows has no shared locks here."""
        os.lseek(handle, LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(handle, 0, os.SEEK_SET)
        return True

    def sync(path: Path) -> None:
        """Flush to disk, so that a power failure loses nothing. Windows flushes files that are open for writing."""
        if not path.is_dir():
            _flush(path, os.O_RDWR)

    def rename_folder(old: Path, new: Path) -> None:
        """Give a folder another name; an empty folder of that name is replaced."""
        if new.is_dir():
            new.rmdir()
        old.rename(new)

    def end_at_once() -> None:
        """End this process without clean-up."""
        os._exit(137)

    def only_mine(path: Path) -> bool:
        """Whether nobody else can have written this file; on Windows that follows from where it is."""
        return True

    def load_average() -> float | None:
        """How many processes were computing in the last minute; Windows does not count them."""
        return None

    @contextmanager
    def alarm(seconds: float, ring: Callable[..., None]) -> Iterator[None]:
        """Windows has no alarms: the block takes its time."""
        yield

else:
    import fcntl

    def try_lock(handle: int, *, shared: bool = False) -> bool:
        """Lock an open file until it is closed; False if another process holds it, shared locks apart."""
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def sync(path: Path) -> None:
        """Flush to disk, so that a power failure loses nothing."""
        _flush(path, os.O_RDONLY)

    def rename_folder(old: Path, new: Path) -> None:
        """Give a folder another name; an empty folder of that name is replaced."""
        old.rename(new)

    def end_at_once() -> None:
        """End this process without clean-up."""
        os.kill(os.getpid(), signal.SIGKILL)

    def only_mine(path: Path) -> bool:
        """Whether nobody else can have written this file."""
        status = path.stat()
        return status.st_uid == os.getuid() and not status.st_mode & 0o022

    def load_average() -> float | None:
        """How many processes were computing in the last minute, on average; None where the system does not say."""
        try:
            return os.getloadavg()[0]
        except OSError:
            return None

    @contextmanager
    def alarm(seconds: float, ring: Callable[..., None]) -> Iterator[None]:
        """Call `ring`, which may raise, if the block takes longer; possible in the main thread only."""
        if current_thread() is not main_thread():
            yield
            return
        before = signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def _flush(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def open_no_follow(path: Path, flags: int) -> int:
    """Open a file for writing; a symbolic link is refused."""
    try:
        return os.open(path, flags | os.O_CREAT | NO_FOLLOW | CLOSE_ON_EXEC, 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UserError(f"{path}: is a symbolic link; regard writes only into the folder itself") from None
        raise
