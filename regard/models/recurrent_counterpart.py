"""The recurrent model that does the same job as a Transformer, for comparisons."""

from regard.core.errors import ConfigError
from regard.core.model import ModelConfig
from regard.models.bert import BERT
from regard.models.decoder_only import DecoderOnly
from regard.models.gpt import GPT
from regard.models.heads import ClassifierHead
from regard.models.rnn import RNN
from regard.models.rnn_classifier import RNNClassifier
from regard.models.rnn_lm import RNNLM
from regard.models.transformer import Transformer
from regard.parts.attention import Additive, Full


def recurrent_counterpart(model: ModelConfig, attention: Full | Additive | None = None) -> RNN | RNNLM | RNNClassifier:
    """Of twice the width, which has about as many parameters; with `attention` it looks back at its source."""
    match model:
        case GPT() if attention is None:
            return RNNLM(vocab=model.vocab, width=2 * model.width, dropout=model.dropout)
        case BERT(head=ClassifierHead() as head) if attention is None:
            return RNNClassifier(vocab=model.vocab, width=2 * model.width, head=head, dropout=model.dropout)
        case Transformer() | DecoderOnly():
            return RNN(vocab=model.vocab, width=2 * model.width, attention=attention, dropout=model.dropout)
    if model.reads_tables:
        raise ConfigError("the rows and columns of a table have no order for an RNN to follow")
    raise ConfigError(
        f"there is no recurrent model{' with attention' if attention else ''} in place of {type(model).__name__}"
    )
