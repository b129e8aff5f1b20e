"""Scores of written text against references, as the field cites them."""

from collections.abc import Sequence


def translation_scores(answers: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """BLEU as sacreBLEU counts it (13a), cased and lower-cased, chrF, and the share that is exactly right."""
    from sacrebleu.metrics import BLEU, CHRF

    exact = sum(answer == reference for answer, reference in zip(answers, references, strict=True))
    return {
        "bleu": BLEU().corpus_score(list(answers), [list(references)]).score,
        "bleu_lower": BLEU(lowercase=True).corpus_score(list(answers), [list(references)]).score,
        "chrf": CHRF().corpus_score(list(answers), [list(references)]).score,
        "exact": exact / max(len(answers), 1),
    }


def signatures() -> dict[str, str]:
    """What exactly each score counts, for whoever wants to compare."""
    from sacrebleu.metrics import BLEU, CHRF

    metrics = {"bleu": BLEU(), "bleu_lower": BLEU(lowercase=True), "chrf": CHRF()}
    for metric in metrics.values():
        metric.corpus_score(["a"], [["a"]])  # a signature knows the number of references only afterwards
    return {name: str(metric.get_signature()) for name, metric in metrics.items()}
