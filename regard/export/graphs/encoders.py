"""Encoders as graphs: a padded batch of texts, or of images, to scores."""

import torch
from torch import Tensor, nn

from regard.export.graphs.base import SIZES, Graph, Input, tokens
from regard.models.bert import BERTModel
from regard.models.rnn_classifier import RNNClassifierModel
from regard.models.vit import ViTModel


class ReadsTexts(nn.Module):
    def __init__(self, model: BERTModel | RNNClassifierModel):
        super().__init__()
        self.model = model

    def forward(self, *tensors: Tensor) -> Tensor:
        input_ids, attention_mask = tensors
        scores: Tensor = self.model(input_ids, attention_mask.bool())
        return scores


def text_graph(model: BERTModel | RNNClassifierModel) -> Graph:
    inputs = {"input_ids": tokens("batch", "sequence"), "attention_mask": tokens("batch", "sequence")}
    return Graph("model", ReadsTexts(model), inputs, ["logits"])


class ReadsImages(nn.Module):
    def __init__(self, model: ViTModel):
        super().__init__()
        self.model = model

    def forward(self, *tensors: Tensor) -> Tensor:
        scores: Tensor = self.model(tensors[0])
        return scores


def image_graph(model: ViTModel) -> Graph:
    config = model.config
    images = torch.zeros(SIZES["batch"], config.channels, config.image, config.image)
    return Graph("model", ReadsImages(model), {"pixel_values": Input(images, {0: "batch"})}, ["logits"])
