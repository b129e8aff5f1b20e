"""Models as graphs of tensors, which the formats `torch`, `onnx` and `html` write."""

from torch import nn

from regard.core.errors import ConfigError
from regard.export.base import Subject
from regard.export.graphs.base import Graph, Input, trace
from regard.export.graphs.encoders import image_graph, text_graph
from regard.export.graphs.language import gpt_graph, rnn_lm_graph
from regard.export.graphs.seq2seq import rnn_graphs, transformer_graphs
from regard.models.bert import BERTModel
from regard.models.decoder_only import DecoderOnlyModel
from regard.models.gpt import GPTModel
from regard.models.rnn import RNNModel
from regard.models.rnn_classifier import RNNClassifierModel
from regard.models.rnn_lm import RNNLMModel
from regard.models.transformer import TransformerModel
from regard.models.vit import ViTModel
from regard.parts.attention.bigbird import BigBirdAttention
from regard.parts.attention.compressed import CompressedAttention
from regard.parts.attention.linformer import LinformerAttention
from regard.parts.attention.window import WindowAttention
from regard.tasks.base import Run

__all__ = ["Graph", "Input", "graphs_of", "model_graphs", "trace"]
SPARSE = BigBirdAttention | CompressedAttention | LinformerAttention | WindowAttention  # they count blocks or slots


def graphs_of(subject: Subject) -> list[Graph]:
    """The graphs of a run or a fitted table."""
    if isinstance(subject, Run):
        return model_graphs(subject.model)
    from regard.export.graphs.table import table_graph

    return [table_graph(subject)]


def model_graphs(model: nn.Module) -> list[Graph]:
    """The graphs of a model: one, or those of its encoder and its decoder."""
    for part in model.modules():
        if isinstance(part, SPARSE):
            kind = type(part).__name__.removesuffix("Attention")
            raise ConfigError(
                f"model.attention: how {kind} computes depends on the length, and a graph serves any length; "
                "train with --model.attention Full"
            )
    match model:
        case GPTModel():
            return [gpt_graph(model)]
        case DecoderOnlyModel():
            return [gpt_graph(model.writer)]  # a source is the beginning of the text that is written
        case RNNLMModel():
            return [rnn_lm_graph(model)]
        case BERTModel() | RNNClassifierModel():
            return [text_graph(model)]
        case ViTModel():
            return [image_graph(model)]
        case TransformerModel():
            return transformer_graphs(model)
        case RNNModel():
            return rnn_graphs(model)
    raise ConfigError(f"model: {type(model).__name__} is no function of tokens, images or rows, and cannot be exported")
