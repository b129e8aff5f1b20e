"""Translate: a source text becomes a target text, for every model that reads one and writes the other."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from torch import Tensor, nn

from regard.core.batches import Loss
from regard.core.errors import ConfigError, UserError, at_least, share
from regard.core.extras import available, explain_missing, require
from regard.data.text.dates import Dates
from regard.data.text.pair_files import PairFiles, read_pair_trees, read_pairs
from regard.data.text.pairs import PairBatch
from regard.data.trees.conllu import Parse
from regard.decode import Beam
from regard.interop.base_model import BaseModel
from regard.models import FromSource, Model
from regard.tasks.base import EvalOptions, Prepared, Run, Settings, Task, ViewForm, Workspace, check_list
from regard.tasks.columns import training_columns
from regard.tasks.recording import Recording, ViewInput
from regard.tasks.seq2seq.alignment import align
from regard.tasks.seq2seq.loss import score_targets, target_loss, target_loss_and_logits
from regard.tasks.seq2seq.prepare import PairTexts, prepare_pairs, reads_source
from regard.tasks.seq2seq.recording import record_pair
from regard.tasks.seq2seq.scores import exact_fraction, signatures, translation_scores
from regard.tasks.seq2seq.writing import Written, write_targets
from regard.tasks.translate.baseline import word_for_word
from regard.tasks.trees import Trees, check_trees, note_unused_trees, trees_of
from regard.text import Tokenizer

log = logging.getLogger(__name__)

MAX_TOKENS = 256  # written for a text


@dataclass(frozen=True)
class Translate(Task):
    label_smoothing: float = 0.1  # probability spread over all tokens (Szegedy et al., 2016)

    data: ClassVar[tuple[type, ...]] = (PairFiles, Dates)
    verb: ClassVar[str] = "translate"
    next_command: ClassVar[str] = "regard translate {} < LINES.txt"
    named: ClassVar[tuple[str, ...]] = ("translate", "translations", "score", "align")
    max_tokens: ClassVar[int] = MAX_TOKENS
    eval_options: ClassVar[tuple[str, ...]] = ("max_tokens", "beam", "trees", "columns")

    def __post_init__(self) -> None:
        share(label_smoothing=self.label_smoothing)

    def loss(self, model: nn.Module, batch: PairBatch) -> Loss:
        return target_loss(model, batch, self.label_smoothing if model.training else 0.0)

    def loss_and_logits(self, model: nn.Module, batch: PairBatch) -> tuple[Loss, Tensor]:
        return target_loss_and_logits(model, batch, self.label_smoothing if model.training else 0.0)

    @contextmanager
    def prepare(self, plan: Settings, workspace: Workspace) -> Iterator[Prepared]:
        data = plan.data
        if not isinstance(data, Dates | PairFiles):
            raise ConfigError(f"data: {type(data).__name__} holds no pairs to translate")
        check_trees(plan.model, has_trees=data.has_trees)
        pairs, trees = data.pairs(), data.parses()
        note_unused_trees(plan.model, has_trees=bool(trees))
        measured = pairs.get("test", pairs["valid"])

        def score(run: Run, loss: float) -> dict[str, float]:
            answers = self.translate(run, [source for source, _ in measured], trees=trees.get("valid"))
            references = [target for _, target in measured]
            if not available("metrics"):
                log.info("no BLEU: %s", explain_missing("metrics", "scoring translations"))
                return {"exact": exact_fraction(answers, references)}
            return translation_scores(answers, references)

        ready = prepare_pairs(self, plan, workspace, PairTexts(pairs, trees=trees), score)
        yield replace(ready, baseline=lambda: word_for_word(pairs["train"], measured))

    def start_from(self, base: BaseModel) -> tuple[Any, Model]:
        return self, reads_source(base)

    def answer(self, run: Run, inputs: Sequence[str], **options: Any) -> list[str]:
        return self.translate(run, inputs, **options)

    def translate(
        self,
        run: Run,
        texts: Sequence[str],
        max_tokens: int = MAX_TOKENS,
        *,
        beam: Beam | None = None,
        trees: Trees | None = None,
    ) -> list[str]:
        """The translation of each text; `trees` are those of the texts, parsed, or the CoNLL-U file that holds them."""
        return [best[0].text for best in self.translations(run, texts, max_tokens, beam=beam, trees=trees)]

    def translations(
        self,
        run: Run,
        texts: Sequence[str],
        max_tokens: int = MAX_TOKENS,
        *,
        beam: Beam | None = None,
        trees: Trees | None = None,
    ) -> list[list[Written]]:
        """All hypotheses of a beam for each text, best first."""
        check_list(texts)
        at_least(1, max_tokens=max_tokens)
        parses = trees_of(run, texts, trees)
        return write_targets(run.model, self._tokenizer(run), texts, max_tokens, beam=beam, trees=parses)

    def score(self, run: Run, pairs: Sequence[tuple[str, str]], trees: Trees | None = None) -> list[float]:
        """The mean log-probability of a token of the target of each pair."""
        if any(isinstance(pair, str) for pair in pairs):
            raise ConfigError("a list of pairs is needed: put [ ] around a single one")
        parses = trees_of(run, [source for source, _ in pairs], trees)
        return score_targets(run.model, self._tokenizer(run), pairs, parses)

    def align(self, run: Run, source: str, target: str, tree: Parse | None = None) -> list[tuple[int, int]]:
        """The word of `source` that each word of `target` attends to most: pairs of their numbers, from 0."""
        aligned = align(run.model, self._tokenizer(run), source, target, tree)
        if aligned is None:
            raise UserError(f"{run.path}: its model has no attention to the source, so nothing can be aligned")
        return aligned

    def _tokenizer(self, run: Run) -> Tokenizer:
        if not isinstance(run.config, FromSource):
            raise UserError(f"{run.path}: holds a {type(run.config).__name__}, which does not translate")
        return run.require_tokenizer("it translates tokens but no text")

    def evaluate(self, run: Run, files: Sequence[str], options: EvalOptions) -> dict[str, Any]:
        require("metrics", "scoring translations")
        columns = options.columns or (() if len(files) == 2 else training_columns(run))
        pairs = list(read_pairs(tuple(files), columns))
        if not pairs:
            raise UserError(f"{', '.join(files)}: no pairs")
        trees = read_pair_trees(options.trees, tuple(files), columns=columns) if options.trees else None
        texts = [source for source, _ in pairs]
        answers = self.translate(run, texts, options.max_tokens or MAX_TOKENS, beam=options.beam, trees=trees)
        scores = translation_scores(answers, [target for _, target in pairs])
        return {**scores, "pairs": len(pairs), "signatures": signatures()}

    def view_form(self, config: Model, has_tokenizer: bool) -> ViewForm | None:
        return ViewForm("pair", "a sentence to translate") if has_tokenizer else None

    def record(self, run: Run, view_input: ViewInput, tree: Parse | None = None) -> Recording:
        trees = None if tree is None else [tree]
        return record_pair(run, view_input, lambda text: self.translate(run, [text], trees=trees)[0], tree)

    @classmethod
    def adopt(cls, config: Model, extra: Mapping[str, Any]) -> "Translate | None":
        return cls() if isinstance(config, FromSource) else None


def exact_match(run: Run, pairs: Sequence[tuple[str, str]]) -> float:
    """The fraction of pairs whose target the model writes exactly."""
    answers = run([source for source, _ in pairs])
    return sum(answer == target for answer, (_, target) in zip(answers, pairs, strict=True)) / len(pairs)
