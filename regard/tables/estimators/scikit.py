"""scikit-learn's base classes without scipy.stats, which takes longer to import than they do and which they never use.

`sklearn.utils.fixes` imports it for the sake of one function, and finds that through the attribute `scipy.stats`, which
scipy imports when it is first used. So an empty module may stand in for it meanwhile.
"""

import sys
import threading
from contextlib import suppress
from importlib import import_module
from types import ModuleType

MODULES = ("sklearn.base", "sklearn.utils.validation", "sklearn.utils.multiclass", "sklearn.exceptions")
UNUSED = "scipy.stats"


def import_base() -> None:
    """Import what estimators derive from, unless it is there or another thread might want scipy.stats just now."""
    if "sklearn" in sys.modules or UNUSED in sys.modules or threading.active_count() > 1:
        return
    stand_in = sys.modules[UNUSED] = ModuleType(UNUSED)
    try:
        with suppress(ImportError, AttributeError):  # another release may use it: then it is imported as usual
            for name in MODULES:
                import_module(name)
    finally:
        if sys.modules.get(UNUSED) is stand_in:
            del sys.modules[UNUSED]
