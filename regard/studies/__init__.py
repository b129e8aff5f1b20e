"""Studies: questions that take many runs, answered with their uncertainty."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.studies.ablate.ablation import Ablation, study_ablation
    from regard.studies.distance.recall import Recall, study_distance
    from regard.studies.heads.study import HeadStudy, study_heads
    from regard.studies.scale.scaling import Scaling, study_scaling

__all__ = [
    "Ablation", "HeadStudy", "Recall", "Scaling", "study_ablation", "study_distance", "study_heads", "study_scaling",
]  # fmt: skip

_HOME = {
    "Ablation": "ablate.ablation",
    "HeadStudy": "heads.study",
    "Recall": "distance.recall",
    "Scaling": "scale.scaling",
    "study_ablation": "ablate.ablation",
    "study_distance": "distance.recall",
    "study_heads": "heads.study",
    "study_scaling": "scale.scaling",
}


def __getattr__(name: str) -> Any:
    """Imported on first use: the command line reads the verbs before anything heavy."""
    if name not in _HOME:
        raise AttributeError(f"module 'regard.studies' has no attribute {name!r}")
    return getattr(import_module(f"regard.studies.{_HOME[name]}"), name)
