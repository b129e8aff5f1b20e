"""The baseline of tagging: the most frequent tag of each word in the training files."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from regard.data.text.tagged import TaggedSentence
from regard.tasks.baseline import Baseline
from regard.tasks.tag.scores import is_bio, tag_scores

REMEDY = "train longer (--epochs), or with more sentences"


def frequent_tags(train: Sequence[TaggedSentence], valid: Sequence[TaggedSentence]) -> Baseline:
    """Words that do not occur in training get the most frequent tag of words that occur once there."""
    tags: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for sentence in train:
        for word, label in zip(sentence.words, sentence.labels, strict=True):
            tags[word][label] += 1
    once = Counter(next(iter(seen)) for seen in tags.values() if seen.total() == 1)
    unknown = (once or sum(tags.values(), Counter[str]())).most_common(1)[0][0]
    best = {word: seen.most_common(1)[0][0] for word, seen in tags.items()}
    predicted = [[best.get(word, unknown) for word in sentence.words] for sentence in valid]
    true = [sentence.labels for sentence in valid]
    score = "span_f1" if is_bio(true) else "accuracy"
    return Baseline("the most frequent tag of each word", score, tag_scores(predicted, true)[score], REMEDY)
