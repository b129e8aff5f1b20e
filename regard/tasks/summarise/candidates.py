"""The two summaries of each document: what the network writes, and the span that the extractor finds."""

from collections.abc import Sequence

import numpy as np

from regard.data.text.pairs import References
from regard.decode import Beam
from regard.tasks.base import Run
from regard.tasks.seq2seq.loss import score_targets
from regard.tasks.seq2seq.writing import write_targets
from regard.tasks.summarise.extract_fit import rouge
from regard.tasks.summarise.extractor import Extracted
from regard.tasks.summarise.selector import Selector, fit_selector
from regard.text import Tokenizer

COMPARED = 200  # validation documents that the selector is fitted on


def written(run: Run, texts: Sequence[str], max_tokens: int, max_length: int, beam: Beam | None = None) -> list[str]:
    tokenizer = run.require_tokenizer("it summarises tokens but no text")
    answers = write_targets(run.model, tokenizer, texts, max_tokens, beam=beam, max_length=max_length)
    return [best[0].text for best in answers]


def extracted(run: Run, texts: Sequence[str]) -> list[Extracted]:
    return [run.extra["extractor"].best(text) for text in texts]


def chosen(
    run: Run,
    texts: Sequence[str],
    network: Sequence[str],
    spans: Sequence[Extracted],
    selector: Selector,
    max_length: int,
) -> list[str]:
    """The better summary of each document."""
    first = selector.network_first(probabilities(run, texts, network, max_length), [span.score for span in spans])
    return [text if better else span.text for text, span, better in zip(network, spans, first, strict=True)]


def selector_for(run: Run, documents: Sequence[References], max_tokens: int, max_length: int) -> Selector:
    some = compared(documents)
    texts = [source for source, _ in some]
    network, spans = written(run, texts, max_tokens, max_length), extracted(run, texts)
    return fit_selector(
        probabilities(run, texts, network, max_length),
        [span.score for span in spans],
        [rouge(text, targets) for text, (_, targets) in zip(network, some, strict=True)],
        [rouge(span.text, targets) for span, (_, targets) in zip(spans, some, strict=True)],
    )


def compared(documents: Sequence[References]) -> list[References]:
    """A random part of many documents: files are often sorted, so that their beginning is not like the rest."""
    rows = np.random.default_rng(0).permutation(len(documents))[:COMPARED]
    return [documents[row] for row in np.sort(rows)]


def probabilities(run: Run, texts: Sequence[str], summaries: Sequence[str], max_length: int) -> list[float]:
    """The geometric mean of the probabilities of the tokens of each summary, as the network finds them."""
    tokenizer = run.require_tokenizer("it summarises tokens but no text")
    read = _truncated(tokenizer, texts, max_length)
    scores = score_targets(run.model, tokenizer, list(zip(read, summaries, strict=True)))
    return np.exp(scores).tolist()


def _truncated(tokenizer: Tokenizer, texts: Sequence[str], max_length: int) -> list[str]:
    """As much of each text as the network reads."""
    spans = tokenizer.offsets(texts)
    return [
        text if len(each) <= max_length else text[: each[max_length - 1][1]]
        for text, each in zip(texts, spans, strict=True)
    ]
