"""The baseline of text classification: TF-IDF and logistic regression, by scikit-learn."""

import random
import warnings
from collections import Counter
from collections.abc import Sequence

from regard.tasks.baseline import Baseline
from regard.tasks.labels import label_scores

MAX_CHARACTERS = 8_000_000  # of all training texts together: more would take minutes
EACH = 20_000  # characters of a text
REMEDY = "train longer (--epochs), or classify with more labelled texts"

LabelledText = tuple[str, str]  # label, text


def tfidf_baseline(train: Sequence[LabelledText], valid: Sequence[LabelledText]) -> Baseline:
    """Accuracy on the validation texts, learned from the training texts, or from as many as are read in seconds."""
    some, method = sample_texts(train), "TF-IDF of words, word pairs and characters, and logistic regression"
    if len(some) < len(train):
        method += f" on {len(some):,} of the texts"
    answers = _predict(some, [text[:EACH] for _, text in valid])
    if answers is None:
        method, answers = (
            "the most frequent label",
            [Counter(label for label, _ in some).most_common(1)[0][0]] * len(valid),
        )
    return Baseline(method, "accuracy", label_scores(answers, [label for label, _ in valid])["accuracy"], REMEDY)


def sample_texts(rows: Sequence[LabelledText]) -> list[LabelledText]:
    """All texts, or a random sample of bounded size; every label that occurs keeps a text."""
    cut = [(label, text[:EACH]) for label, text in rows]
    if sum(len(text) for _, text in cut) <= MAX_CHARACTERS:
        return cut
    random.Random(0).shuffle(cut)
    seen, some, size = set[str](), [], 0
    for label, text in cut:
        if size < MAX_CHARACTERS or label not in seen:
            seen.add(label)
            some.append((label, text))
            size += len(text)
    return some


def _predict(train: Sequence[LabelledText], texts: Sequence[str]) -> list[str] | None:
    """The label of each text; None where the training texts hold no word or only one label."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline, make_union

    model = make_pipeline(
        make_union(
            TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\w+|[^\w\s]", sublinear_tf=True),
            TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True),
        ),
        LogisticRegression(C=10.0, max_iter=200),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few texts for many labels; too few iterations for the last digits
        try:
            model.fit([text for _, text in train], [label for label, _ in train])
        except ValueError:  # an empty vocabulary, or a single label
            return None
    return list(map(str, model.predict(list(texts))))
