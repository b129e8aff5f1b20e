"""The recipe for a Non-Parametric Transformer of one table."""

from regard.core.errors import ConfigError
from regard.models import NPT
from regard.tables.file import TableFile
from regard.tasks.plan import Plan
from regard.tasks.study_files import StudyFiles
from regard.tasks.table.task import MaskedCells
from regard.train import WSD, AdamW, Training


def table_npt(file: str, target: str) -> Plan:
    return Plan(
        data=TableFile(file=file, target=target),
        task=MaskedCells(),
        model=NPT(categories=(0,), width=64, layers=4, heads=4, dropout=0.1),  # the columns follow from the data
        training=Training(
            batch_size=256,  # rows of the table that one step sees
            steps=500,
            optimiser=AdamW(lr=1e-3, weight_decay=0.0),
            schedule=WSD(warmup=10, stable=0.5),
        ),
    )


def ablation_base(files: StudyFiles) -> Plan:
    if files.target is None:
        raise ConfigError("--target: name the column of the table to predict")
    if len(files.data) != 1 or files.valid:
        raise ConfigError("--data: a table is one file; some of its rows are held out for validation")
    return table_npt(files.data[0], files.target)
