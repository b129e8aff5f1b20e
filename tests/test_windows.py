"""Without what only Unix has, tables are fitted, models trained and runs loaded. Windows itself is imitated."""

import ast
import subprocess
import sys
from pathlib import Path

from tests.documents.pages import ROOT

UNIX_ONLY = ("fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty")
MISSING = {
    "os": ("O_NOFOLLOW", "O_CLOEXEC", "sched_getaffinity", "fork", "getuid", "getloadavg", "mkfifo", "killpg"),
    "signal": ("SIGALRM", "SIGKILL", "SIGHUP", "SIGUSR1", "setitimer", "ITIMER_REAL", "alarm"),
}

# The libraries are imported first: they are those of this system. regard then finds what it would find on Windows:
# locks of msvcrt on single bytes, folders that cannot be opened, and no renaming onto a folder that exists.
WINDOWS = f"""
import errno, os, signal, sys, types
import numpy, pandas, pyarrow, rich.progress, safetensors.torch, scipy.stats
import sklearn.linear_model, tokenizers, torch, yaml
sys.modules.update(dict.fromkeys({UNIX_ONLY!r}))
for name in {MISSING["os"]!r}:
    delattr(os, name)
for name in {MISSING["signal"]!r}:
    delattr(signal, name)

held = {{}}
class Locks(types.ModuleType):
    LK_NBLCK = 2
    def locking(self, handle, mode, count):
        file, byte = os.fstat(handle).st_ino, os.lseek(handle, 0, os.SEEK_CUR)
        other = held.get((file, byte))
        try:
            alive = other not in (None, handle) and os.fstat(other).st_ino == file
        except OSError:  # closed, which releases a lock
            alive = False
        if alive:
            raise OSError(errno.EACCES, "Permission denied")
        held[file, byte] = handle
sys.modules["msvcrt"] = Locks("msvcrt")

open_unix, rename_unix = os.open, os.rename
def open_windows(path, flags, *more, **named):
    if os.path.isdir(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))
    return open_unix(path, flags, *more, **named)
def rename_windows(old, new, **named):
    if os.path.exists(new):
        raise FileExistsError(errno.EEXIST, "File exists", str(new))
    return rename_unix(old, new, **named)
os.open, os.rename = open_windows, rename_windows

sys.platform, real = "win32", sys.platform
import regard.core.system
sys.platform = real
"""

WORK = """
from pathlib import Path
import regard
from regard.cli import main
from regard.core.errors import UserError
from regard.store import RunFolder
from regard.tables import NPTClassifier
from regard.view.pictures.training import is_running

table = pandas.DataFrame({"x": [n % 7 for n in range(40)], "z": [n % 3 for n in range(40)]})
answers = ["ab"[n % 7 > 3] for n in range(40)]
fitted = NPTClassifier().fit(table, answers)
fitted.save("fitted")
assert (regard.load("fitted").predict(table) == fitted.predict(table)).all()

Path("t.txt").write_text("the cat sat on the mat. " * 100)
Path("run").mkdir()  # an empty folder, which a run may take
small = ["--model.layers", "1", "--model.width", "16", "--model.heads", "2", "--steps", "2"]
try:
    main(["train", "lm", "--data", "t.txt", "--out", "run", *small])
except SystemExit as ended:
    assert not ended.code
assert regard.load("run").generate(["the"])
assert not is_running(Path("run"))
with RunFolder(Path("run")).open(resume=True):
    assert is_running(Path("run"))
    try:
        RunFolder(Path("run")).open(resume=True)
    except UserError as error:
        assert f"another process ({os.getpid()})" in str(error), error
    else:
        raise AssertionError("two writers")
assert not is_running(Path("run"))
print("done")
"""


def test_tables_and_runs_without_what_only_unix_has(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WINDOWS + WORK]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == "done"


def test_one_module_knows_what_only_unix_has() -> None:
    """Elsewhere such names may only be asked for after `hasattr`."""
    names = {name for some in MISSING.values() for name in some} - {"sched_getaffinity"}
    for path in (ROOT / "regard").rglob("*.py"):
        if path.name == "system.py" and path.parent.name == "core":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            imported = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not {*imported} & {*UNIX_ONLY}, path
            assert not (isinstance(node, ast.Attribute) and node.attr in names), (path, node.lineno)
