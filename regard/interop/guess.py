"""Folders of the first years name no model_type and no architecture: the names of their tensors do."""

from collections.abc import Iterable

FIRST_NAMES = {
    "bert.": "bert",
    "roberta.": "roberta",
    "transformer.h.": "gpt2",
    "h.0.": "gpt2",
    "embeddings.word_embeddings.": "bert",
}
HEADS = {  # how the tensors of a head begin, and the end of its architecture's name; the first that is there
    "cls.predictions.": "ForMaskedLM",
    "lm_head.dense.": "ForMaskedLM",
    "qa_outputs.": "ForQuestionAnswering",
    "classifier.": "ForSequenceClassification",
}


def guess(names: Iterable[str], architectures: dict[str, tuple[str, ...]]) -> dict[str, object]:
    """The keys that config.json lacks; `architectures` has those that are read of each family."""
    names = list(names)
    kind = next((kind for start, kind in FIRST_NAMES.items() if any(name.startswith(start) for name in names)), None)
    if kind is None:
        return {}
    end = next((end for start, end in HEADS.items() if any(name.startswith(start) for name in names)), "Model")
    architecture = next((name for name in architectures[kind] if name.endswith(end)), architectures[kind][0])
    return {"model_type": kind, "architectures": [architecture]}
