"""The table of tasks: the config reader, the contract tests and models from other libraries go through this union."""

from regard.tasks.classify.task import Classify
from regard.tasks.contacts.task import Contacts
from regard.tasks.fill.task import MaskedLM
from regard.tasks.image.task import ClassifyImages
from regard.tasks.lm.task import LanguageModel
from regard.tasks.pretrain_tables.task import InContextTables
from regard.tasks.summarise.task import Summarise
from regard.tasks.table.task import MaskedCells
from regard.tasks.tag.task import Tag
from regard.tasks.translate.task import Translate

AnyTask = (
    Translate | Summarise | LanguageModel | MaskedLM | Classify | Tag | ClassifyImages | MaskedCells | InContextTables
    | Contacts
)  # fmt: skip
