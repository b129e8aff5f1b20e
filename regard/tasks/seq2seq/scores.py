"""Scores of written text against references, as the field cites them."""

from collections.abc import Sequence
from importlib.metadata import version

from regard.core.extras import require

ROUGE = ["rouge1", "rouge2", "rougeL"]


def translation_scores(answers: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """BLEU as sacreBLEU counts it (13a), cased and lower-cased, chrF, and the share that is exactly right."""
    require("metrics", "scoring translations")
    from sacrebleu.metrics import BLEU, CHRF

    # `force` only keeps sacreBLEU from doubting texts whose full stop stands apart, as in many corpora.
    return {
        "bleu": BLEU(force=True).corpus_score(list(answers), [list(references)]).score,
        "bleu_lower": BLEU(lowercase=True, force=True).corpus_score(list(answers), [list(references)]).score,
        "chrf": CHRF().corpus_score(list(answers), [list(references)]).score,
        "exact": exact_fraction(answers, references),
    }


def exact_fraction(answers: Sequence[str], references: Sequence[str]) -> float:
    exact = sum(answer == reference for answer, reference in zip(answers, references, strict=True))
    return exact / max(len(answers), 1)


def signatures() -> dict[str, str]:
    """What exactly each score counts, for whoever wants to compare."""
    from sacrebleu.metrics import BLEU, CHRF

    metrics = {"bleu": BLEU(), "bleu_lower": BLEU(lowercase=True), "chrf": CHRF()}
    for metric in metrics.values():
        metric.corpus_score(["a"], [["a"]])  # a signature knows the number of references only afterwards
    return {name: str(metric.get_signature()) for name, metric in metrics.items()}


def summary_scores(answers: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, float]:
    """ROUGE (Lin, 2004) as Google's rouge-score counts it; `rouge_protocol` says what that is."""
    require("metrics", "scoring summaries")
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(ROUGE, use_stemmer=True)
    scores = [scorer.score_multi(list(right), answer) for answer, right in zip(answers, references, strict=True)]
    return {name: 100 * sum(one[name].fmeasure for one in scores) / max(len(scores), 1) for name in ROUGE}


def rouge_protocol() -> str:
    return (
        f"rouge-score {version('rouge-score')}: F1 of words (rouge1), pairs of words (rouge2) and longest common "
        "subsequence (rougeL), times 100; lower case, letters a-z and digits only, Porter stems; each score takes the "
        "best of several references; mean over documents"
    )
