"""The study of heads: load the runs, mask every head, write the report."""

import logging
from dataclasses import asdict, dataclass
from pathlib import Path

from regard.core.errors import ConfigError, at_least
from regard.core.files import sha256
from regard.data.trees.conllu import read_trees
from regard.store import WEIGHTS
from regard.studies.heads.importance import measure_heads
from regard.studies.heads.report import report_heads
from regard.studies.heads.subject import load_subject
from regard.studies.runner.folder import StudyFolder
from regard.train.display import clock

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class HeadStudy:
    """The settings of the study; the same settings in the same folder resume it."""

    runs: tuple[str, ...]
    trees: tuple[str, ...] = ()  # CoNLL-U files
    batches: int = 4
    sentences: int = 200

    def __post_init__(self) -> None:
        at_least(1, batches=self.batches, sentences=self.sentences)
        if not self.runs:
            raise ConfigError("study heads: name the run folders to study")

    def weights(self) -> list[str | None]:
        """Checksums: a run that was trained again is another."""
        files = [Path(run) / WEIGHTS for run in self.runs]
        return [sha256(file) if file.exists() else None for file in files]


def study_heads(study: HeadStudy, out: Path) -> None:
    with StudyFolder(out).open({**asdict(study), "weights": study.weights()}) as folder:
        subjects = [load_subject(Path(run), study.batches) for run in study.runs]
        pending = [subject.pending(folder) for subject in subjects]
        seconds = sum(count * subject.seconds for count, subject in zip(pending, subjects, strict=True))
        log.info("masking %d heads one by one: about %s", sum(pending), clock(seconds))
        parses = read_trees(list(map(Path, study.trees)))[: study.sentences] if study.trees else []
        report_heads(folder.path, [measure_heads(subject, folder, parses) for subject in subjects])
        log.info("wrote %s and %s", out / "report.html", out / "report.md")
