"""Optional dependencies, in groups (`regard[plot]`): a feature that needs one names its group in a line."""

from importlib.util import find_spec

from regard.core.errors import UserError

# The groups of pyproject.toml and the modules that they bring.
GROUPS = {
    "files": ("python_calamine", "openpyxl", "odf", "duckdb"),
    "forecast": ("holidays",),
    "images": ("PIL",),
    "gguf": ("gguf",),
    "metrics": ("sacrebleu", "rouge_score"),
    "onnx": ("onnx", "onnxscript", "onnxruntime"),
    "plot": ("matplotlib",),
    "proteins": ("gemmi",),
    "serve": ("fastapi", "uvicorn", "jinja2", "prometheus_client"),
    "tensorboard": ("tensorboard",),
    "view": ("fastapi", "uvicorn"),
}
# Where import and package names differ.
PACKAGES = {
    "PIL": "pillow",
    "odf": "odfpy",
    "prometheus_client": "prometheus-client",
    "python_calamine": "python-calamine",
    "rouge_score": "rouge-score",
}


def available(group: str) -> bool:
    """Whether all modules of a group can be imported; none is imported."""
    return not missing(group)


def require(group: str, feature: str) -> None:
    """Raise a UserError that names the group unless all its modules can be imported; none is imported."""
    if not available(group):
        raise UserError(explain_missing(group, feature))


def explain_missing(group: str, feature: str) -> str:
    return f"{feature} needs {' and '.join(missing(group))}: pip install 'regard[{group}]'"


def missing(group: str) -> list[str]:
    """The packages of a group that are not installed."""
    return [PACKAGES.get(module, module) for module in GROUPS[group] if not importable(module)]


def importable(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # a parent package is missing, or the module was blocked in sys.modules
        return False
