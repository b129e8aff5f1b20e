"""Recipes: a run is a Python function, derived from another by changing what differs."""

from regard.recipes.classifier import classifier, train_classifier, tuned
from regard.recipes.dates import dates, dates_quick
from regard.recipes.filler import filler, train_filler
from regard.recipes.image_classifier import image_classifier, train_image_classifier
from regard.recipes.language import language, train_language_model
from regard.recipes.own_table import own_table
from regard.recipes.plan import Plan, settle
from regard.recipes.summariser import summariser, train_summariser
from regard.recipes.table_reader import table_reader, train_table_reader
from regard.recipes.translator import MODELS, share_right, train_translator, translator

__all__ = [
    "MODELS",
    "Plan",
    "classifier",
    "dates",
    "dates_quick",
    "filler",
    "image_classifier",
    "language",
    "own_table",
    "settle",
    "share_right",
    "summariser",
    "table_reader",
    "train_classifier",
    "train_filler",
    "train_image_classifier",
    "train_language_model",
    "train_summariser",
    "train_table_reader",
    "train_translator",
    "translator",
    "tuned",
]
