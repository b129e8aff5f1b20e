"""Optional dependencies: a feature that needs one says in a line which extra to install."""

from importlib.util import find_spec

from regard.core.errors import UserError

PACKAGES = {"PIL": "pillow", "sklearn": "scikit-learn", "yaml": "pyyaml"}  # where import and package names differ


def available(*modules: str) -> bool:
    return not _missing(modules)


def require(*modules: str, group: str, feature: str | None = None) -> None:
    """Raise a UserError naming the extra `group` unless all modules can be imported; nothing is imported."""
    if missing := _missing(modules):
        names = " and ".join(PACKAGES.get(name, name) for name in missing)
        raise UserError(f"{feature or f'regard {group}'} needs {names}: pip install 'regard[{group}]'")


def _missing(modules: tuple[str, ...]) -> list[str]:
    return [name for name in modules if not _found(name)]


def _found(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # a parent package is missing, or the module was blocked in sys.modules
        return False
