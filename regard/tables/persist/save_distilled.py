"""Saving a distilled model: columns and a student for each target, and no training rows.

config.yaml         estimator, teacher's mode, targets with the number of rows of each class, students
columns.json        names, kinds, the levels of at least five rows
model.safetensors   trees or weights, and the weights of hashed n-grams of text columns
"""

import json
from pathlib import Path
from typing import Any

from torch import Tensor

from regard.core.config import to_dict
from regard.core.files import write_text
from regard.core.version import VERSION
from regard.store import COLUMNS, RunFolder
from regard.tables.distillation.mlp import MLPStudent
from regard.tables.distillation.student import StudentPredictor
from regard.tables.distillation.trees import TreeStudent
from regard.tables.network.boosted_trees import tensors_of
from regard.tables.persist.columns import encoder_tensors
from regard.tables.persist.save import describe_targets


def save_distilled(estimator: Any, path: Path, *, overwrite: bool = False) -> None:
    weights: dict[str, Tensor] = encoder_tensors(estimator.columns_)
    model = [_describe(number, one, weights) for number, one in enumerate(estimator.predictors_)]
    counts = [each.tolist() for each in estimator.class_counts_]
    with RunFolder(path).open(overwrite=overwrite) as folder:
        folder.write_weights(weights)
        write_text(path / COLUMNS, json.dumps(estimator.columns_.to_dict(), indent=1, ensure_ascii=False))
        folder.write_config({
            "regard": VERSION,
            "estimator": type(estimator).__name__,
            "mode": estimator.mode,
            "seed": estimator.seed_,
            "rows": estimator.training_rows_,
            "targets": describe_targets(estimator),
            "class_counts": counts,
            "model": model,
        })  # fmt: skip


def _describe(number: int, predictor: StudentPredictor, weights: dict[str, Tensor]) -> dict[str, Any]:
    """The student of a target for `config.yaml`; its tensors are added to `weights`."""
    student, prefix = predictor.student, f"{number}."
    weights[f"{prefix}shape"] = predictor.shape
    if isinstance(student, TreeStudent):
        weights |= {f"{prefix}levels": student.levels.means, f"{prefix}first": student.levels.first}
        for place, trees in enumerate(student.ensembles):
            weights |= {f"{prefix}{place}.{name}": value for name, value in tensors_of(trees).items()}
        return {"student": "tree"}
    assert isinstance(student, MLPStudent), f"cannot save a {type(student).__name__}"
    weights |= {f"{prefix}net.{name}": value for name, value in student.model.state_dict().items()}
    return {"student": "mlp", "config": to_dict(student.model.config)}
