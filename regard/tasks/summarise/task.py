"""Summarise: a document becomes a short text, for every model that reads one text and writes another."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from torch import Tensor, nn

from regard.core.batches import Loss
from regard.core.errors import ConfigError, at_least, share
from regard.core.extras import available, explain_missing, require
from regard.data.text.pair_files import PairFiles, References, all_targets, read_nonempty
from regard.data.text.pairs import PairBatch
from regard.data.trees.conllu import Parse
from regard.decode import Beam
from regard.interop.base_model import BaseModel
from regard.models import Model
from regard.store import EXTRACTOR
from regard.tasks.base import EvalOptions, Prepared, Run, Settings, Task, ViewForm, Workspace, check_list
from regard.tasks.columns import training_columns
from regard.tasks.recording import Recording, ViewInput
from regard.tasks.seq2seq.loss import target_loss, target_loss_and_logits
from regard.tasks.seq2seq.prepare import PairTexts, prepare_pairs, reads_source
from regard.tasks.seq2seq.recording import record_pair
from regard.tasks.seq2seq.scores import rouge_protocol, summary_scores
from regard.tasks.summarise.baseline import first_words, lead_baseline, mean_length
from regard.tasks.summarise.candidates import chosen, extracted, selector_for, written
from regard.tasks.summarise.extract_fit import fit_extractor
from regard.tasks.summarise.extractor import Extract, load_extractor
from regard.tasks.summarise.selector import EXTRACTOR_ALONE, Selector

log = logging.getLogger(__name__)

MAX_TOKENS = 128  # written for a document


@dataclass(frozen=True)
class Summarise(Task):
    max_length: int = 200  # tokens read of a document, in training and in use
    label_smoothing: float = 0.1  # probability spread over all tokens (Szegedy et al., 2016)
    extract: Extract | None = None  # spans of the document as summaries beside the network's; None: the network alone
    choice: Selector = Selector()  # between the two; fitted on the validation documents when training ends

    data: ClassVar[tuple[type, ...]] = (PairFiles,)
    verb: ClassVar[str] = "summarise"
    next_command: ClassVar[str] = "regard summarise {} < DOCUMENTS.txt"
    named: ClassVar[tuple[str, ...]] = ("summarise", "count_truncated")
    max_tokens: ClassVar[int] = MAX_TOKENS
    eval_options: ClassVar[tuple[str, ...]] = ("max_tokens", "beam", "columns")

    def __post_init__(self) -> None:
        at_least(1, max_length=self.max_length)
        share(label_smoothing=self.label_smoothing)

    def loss(self, model: nn.Module, batch: PairBatch) -> Loss:
        return target_loss(model, batch, self.label_smoothing if model.training else 0.0)

    def loss_and_logits(self, model: nn.Module, batch: PairBatch) -> tuple[Loss, Tensor]:
        return target_loss_and_logits(model, batch, self.label_smoothing if model.training else 0.0)

    @contextmanager
    def prepare(self, plan: Settings, workspace: Workspace) -> Iterator[Prepared]:
        if not isinstance(plan.data, PairFiles):
            raise ConfigError(f"data: {type(plan.data).__name__} holds no documents with summaries")
        documents = plan.data.references()
        pairs = {name: all_targets(rows) for name, rows in documents.items()}

        def score(run: Run, loss: float) -> dict[str, float]:
            if not available("metrics"):
                log.info("no ROUGE: %s", explain_missing("metrics", "scoring summaries"))
                return {"loss": loss}
            return self._scores(run, documents["valid"], MAX_TOKENS)

        def fit() -> None:
            if self.extract is not None:
                fit_extractor(documents["train"], self.extract).save(workspace.out / EXTRACTOR)

        def choose(run: Run) -> Summarise:
            if self.extract is None:
                return self
            return replace(self, choice=selector_for(run, documents["valid"], MAX_TOKENS, self.max_length))

        # A run that is stopped before it has been measured says what the extractor finds.
        task = self if self.extract is None else replace(self, choice=EXTRACTOR_ALONE)
        ready = prepare_pairs(task, plan, workspace, PairTexts(pairs, max_length=self.max_length), score)
        yield replace(ready, keep=fit, calibrate=choose, baseline=lambda: lead_baseline(documents["valid"]))

    def start_from(self, base: BaseModel) -> tuple[Any, Model]:
        # What came from another library shall be able to return there, where nothing stands beside the network.
        return (self if base.origin is None else replace(self, extract=None)), reads_source(base)

    def answer(self, run: Run, inputs: Sequence[str], **options: Any) -> list[str]:
        return self.summarise(run, inputs, **options)

    def summarise(
        self, run: Run, texts: Sequence[str], max_tokens: int = MAX_TOKENS, *, beam: Beam | None = None
    ) -> list[str]:
        """A summary of each document: what the network writes, of at most `max_tokens` tokens, or a span of it."""
        check_list(texts)
        at_least(1, max_tokens=max_tokens)
        if self.extract is None or not texts:
            return written(run, texts, max_tokens, self.max_length, beam)
        spans = extracted(run, texts)
        if self.choice.never:
            return [span.text for span in spans]
        network = written(run, texts, max_tokens, self.max_length, beam)
        return chosen(run, texts, network, spans, self.choice, self.max_length)

    def read_extra(self, path: Path) -> Mapping[str, Any]:
        return {} if self.extract is None else {"extractor": load_extractor(path / EXTRACTOR)}

    def count_truncated(self, run: Run, texts: Sequence[str]) -> int:
        """How many documents are longer than what is read of them."""
        check_list(texts)
        tokenizer = run.require_tokenizer("it summarises tokens but no text")
        return sum(len(tokens) > self.max_length for tokens in tokenizer.encode(texts))

    def evaluate(self, run: Run, files: Sequence[str], options: EvalOptions) -> dict[str, Any]:
        require("metrics", "scoring summaries")
        columns = options.columns or (() if len(files) == 2 else training_columns(run))
        documents = read_nonempty(tuple(files), columns)
        words = mean_length([targets for _, targets in documents])
        return {
            **self._scores(run, documents, options.max_tokens or MAX_TOKENS, options.beam),
            "documents": len(documents),
            "truncated": self.count_truncated(run, [source for source, _ in documents]),
            "protocol": f"{rouge_protocol()}; first_words: the first {words} words of each document",
        }

    def _scores(
        self, run: Run, documents: Sequence[References], max_tokens: int, beam: Beam | None = None
    ) -> dict[str, float]:
        """ROUGE of the summaries, and beside it of a baseline: the first words, as many as a reference has."""
        texts, references = [source for source, _ in documents], [targets for _, targets in documents]
        baseline = summary_scores(first_words(texts, mean_length(references)), references)
        return {
            **summary_scores(run.summarise(texts, max_tokens, beam=beam), references),
            **{f"first_words_{name}": value for name, value in baseline.items()},
        }

    def view_form(self, config: Model, has_tokenizer: bool) -> ViewForm | None:
        return ViewForm("summary", "a document to summarise") if has_tokenizer else None

    def record(self, run: Run, view_input: ViewInput, tree: Parse | None = None) -> Recording:
        return record_pair(
            run, view_input, lambda text: self.summarise(run, [text])[0], tree, max_length=self.max_length
        )
