"""The verbs of the tasks, each defined in the folder of its task: `TRAIN`, `PRETRAIN` and `USE` of its verb.py."""

from regard.cli.app import app, pretrain, train
from regard.tasks.classify import verb as classify
from regard.tasks.contacts import verb as contacts
from regard.tasks.embed import verb as embed
from regard.tasks.fill import verb as fill
from regard.tasks.image import verb as image
from regard.tasks.lm import verb as lm
from regard.tasks.pretrain_tables import verb as pretrain_tables
from regard.tasks.summarise import verb as summarise
from regard.tasks.tag import verb as tag
from regard.tasks.translate import verb as translate

# In the order of `regard train --help`.
TASKS = (translate, lm, fill, summarise, classify, tag, image, embed, pretrain_tables, contacts)

USE = tuple(verb for task in TASKS for verb in getattr(task, "USE", ()))

for task in TASKS:
    for name, verb in getattr(task, "TRAIN", {}).items():
        train.command(verb, name=name)
    for name, verb in getattr(task, "PRETRAIN", {}).items():
        pretrain.command(verb, name=name)
for verb in USE:
    app.command(verb)
