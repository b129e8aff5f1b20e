"""The models, each a short composition of parts. `Model` is their table: the config reader and the tests read it."""

from regard.models.bert import BERT, FillWords, GiveStates, NameLabel
from regard.models.gpt import GPT
from regard.models.npt import NPT
from regard.models.rnn import RNN
from regard.models.transformer import Transformer
from regard.models.vit import ViT

Model = RNN | Transformer | GPT | BERT | ViT | NPT

__all__ = ["BERT", "GPT", "NPT", "RNN", "FillWords", "GiveStates", "Model", "NameLabel", "Transformer", "ViT"]
