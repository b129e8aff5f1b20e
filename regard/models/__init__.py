"""The models, each a short composition of parts. `Model` is their table: the config reader and the tests read it."""

from regard.models.bert import BERT, FillWords, GiveStates, NameLabel
from regard.models.decoder_only import DecoderOnly
from regard.models.gpt import GPT
from regard.models.in_context import InContext
from regard.models.npt import NPT
from regard.models.rnn import RNN
from regard.models.rnn_reader import RNNReader
from regard.models.rnn_writer import RNNWriter
from regard.models.transformer import Transformer
from regard.models.vit import ViT

Model = RNN | Transformer | DecoderOnly | GPT | BERT | ViT | NPT | InContext | RNNWriter | RNNReader
FromSource = RNN | Transformer | DecoderOnly  # those that read a source and write a target

__all__ = [
    "BERT", "GPT", "NPT", "RNN", "DecoderOnly", "FillWords", "FromSource", "GiveStates", "InContext", "Model",
    "NameLabel", "RNNReader", "RNNWriter", "Transformer", "ViT",
]  # fmt: skip
