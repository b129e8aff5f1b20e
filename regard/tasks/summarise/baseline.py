"""The baseline of summaries: how a document begins."""

from collections.abc import Sequence

from regard.core.extras import available
from regard.data.text.pairs import References
from regard.tasks.baseline import Baseline
from regard.tasks.seq2seq.scores import summary_scores
from regard.tasks.summarise.spans import SENTENCE_END

REMEDY = "train longer (--epochs), or with more documents"


def lead_baseline(documents: Sequence[References]) -> Baseline | None:
    """The better of the first words, as many as a reference has, and the first sentence; None without rouge-score."""
    if not available("metrics"):
        return None
    texts, references = [source for source, _ in documents], [targets for _, targets in documents]
    count = mean_length(references)
    leads = {f"the first {count} words": first_words(texts, count), "the first sentence": first_sentences(texts)}
    values = {method: summary_scores(answers, references)["rougeL"] for method, answers in leads.items()}
    best = max(values, key=lambda method: values[method])
    return Baseline(f"{best} of each document", "rougeL", values[best], REMEDY)


def first_sentences(texts: Sequence[str]) -> list[str]:
    return [SENTENCE_END.split(text.strip(), maxsplit=1)[0] for text in texts]


def first_words(texts: Sequence[str], count: int) -> list[str]:
    """The summary that needs no training: how a document begins."""
    return [" ".join(text.split()[:count]) for text in texts]


def mean_length(references: Sequence[Sequence[str]]) -> int:
    """The mean number of words of a reference."""
    lengths = [len(text.split()) for texts in references for text in texts]
    return max(1, round(sum(lengths) / len(lengths)))
