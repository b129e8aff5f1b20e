"""The models, each a short composition of parts. `Model` is their table: the config reader and the tests read it."""

from regard.models.bert import BERT
from regard.models.decoder_only import DecoderOnly
from regard.models.evoformer import Evoformer
from regard.models.gpt import GPT
from regard.models.heads import ClassifierHead, MaskedLMHead, NoHead, SpanHead, TokenClassifierHead
from regard.models.in_context import InContext
from regard.models.npt import NPT
from regard.models.recurrent_counterpart import recurrent_counterpart
from regard.models.rnn import RNN
from regard.models.rnn_classifier import RNNClassifier
from regard.models.rnn_lm import RNNLM
from regard.models.transformer import Transformer
from regard.models.vit import ViT

Model = RNN | Transformer | DecoderOnly | GPT | BERT | ViT | NPT | InContext | RNNLM | RNNClassifier | Evoformer
FromSource = RNN | Transformer | DecoderOnly  # those that read a source and write a target

__all__ = [
    "BERT",
    "GPT",
    "NPT",
    "RNN",
    "RNNLM",
    "ClassifierHead",
    "DecoderOnly",
    "Evoformer",
    "FromSource",
    "InContext",
    "MaskedLMHead",
    "Model",
    "NoHead",
    "RNNClassifier",
    "SpanHead",
    "TokenClassifierHead",
    "Transformer",
    "ViT",
    "recurrent_counterpart",
]  # fmt: skip
