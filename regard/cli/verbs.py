"""The verbs of the tasks, each defined in its task's folder."""

from regard.cli.app import app, pretrain, train
from regard.tasks.classify import verb as classify
from regard.tasks.fill import verb as fill
from regard.tasks.image import verb as image
from regard.tasks.lm import verb as lm
from regard.tasks.pretrain_tables import verb as tables
from regard.tasks.summarise import verb as summarise
from regard.tasks.translate import verb as translate

TRAIN = {
    "dates": translate.train_dates,
    "lm": lm.train_lm,
    "fill": fill.train_fill,
    "translate": translate.train_translate,
    "summarise": summarise.train_summarise,
    "classify": classify.train_classify,
    "image": image.train_image,
}
USE = (classify.classify, fill.fill, lm.generate, summarise.summarise, translate.translate)

for name, verb in TRAIN.items():
    train.command(verb, name=name)
pretrain.command(tables.pretrain_tables, name="tables")
for verb in USE:
    app.command(verb)
