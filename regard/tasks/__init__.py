"""The tasks. `Task` is their table: the run folder and the trainer read it."""

from regard.core.batches import Batch, Batches, Loss
from regard.tasks.classify import Classify
from regard.tasks.classify_images import ClassifyImages
from regard.tasks.fill import FillMasked
from regard.tasks.fill_cells import MaskedCells
from regard.tasks.language import LanguageModel
from regard.tasks.read_table import InContextTables
from regard.tasks.summarise import Summarise
from regard.tasks.translate import Translate

Task = Translate | Summarise | LanguageModel | FillMasked | Classify | ClassifyImages | InContextTables | MaskedCells

__all__ = [
    "Batch",
    "Batches",
    "Classify",
    "ClassifyImages",
    "FillMasked",
    "InContextTables",
    "LanguageModel",
    "Loss",
    "MaskedCells",
    "Summarise",
    "Task",
    "Translate",
]
