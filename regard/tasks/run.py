"""A run once it is trained: the model with its best weights, and what can be done with it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core import tensors
from regard.core.config import from_dict, to_dict
from regard.core.errors import ConfigError, UserError, at_least
from regard.data.images.image_cache import View
from regard.data.images.image_files import Found, name_of
from regard.data.images.pixels import ImageError, Picture
from regard.data.trees.conllu import Parse, match_trees, read_trees
from regard.decode import Beam, Sampling
from regard.models import BERT, GPT, RNNLM, FromSource, MaskedLMHead, Model, Transformer, ViT
from regard.parts.positions import Tree
from regard.store.folder import COLUMNS, CONFIG, TOKENIZER, WEIGHTS, RunFolder, read_config
from regard.tasks import Classify, ClassifyImages, Summarise, Task
from regard.tasks.classify import label_chances
from regard.tasks.classify_images import image_chances
from regard.tasks.fill import Guess, fill, guesses
from regard.tasks.language import generate
from regard.tasks.targets import Written, align, score_targets, write_targets
from regard.text import Tokenizer

Trees = Sequence[Parse] | str | Path  # parsed sentences, or the CoNLL-U file that holds them


@dataclass(frozen=True)
class Run:
    """A trained model ready to use: a run folder, or a folder of another library, once loaded."""

    path: Path
    config: Model
    model: nn.Module = field(repr=False)  # a page of modules in every notebook otherwise
    task: Task | None = None
    tokenizer: Tokenizer | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)  # what another library's folder says beside the model

    def translate(
        self, texts: Sequence[str], longest: int = 256, *, beam: Beam | None = None, trees: Trees | None = None
    ) -> list[str]:
        """The target of each text; `trees` are those of the texts, parsed or the CoNLL-U file that holds them."""
        return [best[0].text for best in self.translations(texts, longest, beam=beam, trees=trees)]

    def translations(
        self, texts: Sequence[str], longest: int = 256, *, beam: Beam | None = None, trees: Trees | None = None
    ) -> list[list[Written]]:
        """The same with all that a beam has found, best first."""
        _listed(texts)
        parses = self._parses(texts, trees)
        at_least(1, longest=longest)
        return write_targets(self.model, self._translates(), texts, longest, beam=beam, trees=parses)

    def score(self, pairs: list[tuple[str, str]], trees: Trees | None = None) -> list[float]:
        """The log-probability for each token of the targets of these pairs."""
        if any(isinstance(pair, str) for pair in pairs):
            raise ConfigError("a list of pairs is needed: put [ ] around a single one")
        parses = self._parses([source for source, _ in pairs], trees)
        return score_targets(self.model, self._translates(), pairs, parses)

    def align(self, source: str, target: str, tree: Parse | None = None) -> list[tuple[int, int]]:
        """Which word of `source` each word of `target` looked at most: pairs of their numbers, from 0."""
        aligned = align(self.model, self._translates(), source, target, tree)
        if aligned is None:
            raise UserError(f"{self.path}: its model has no attention to the source, so nothing can be aligned")
        return aligned

    def _translates(self) -> Tokenizer:
        if not isinstance(self.config, FromSource):
            raise UserError(f"{self.path}: does not translate; `regard show {self.path}` tells what it does")
        return self.words("it translates tokens but no text")

    def summarise(self, texts: Sequence[str], longest: int = 128, *, beam: Beam | None = None) -> list[str]:
        """A summary of each document, of at most `longest` tokens."""
        _listed(texts)
        task, tokenizer = self._summarising()
        at_least(1, longest=longest)
        written = write_targets(self.model, tokenizer, texts, longest, beam=beam, most_read=task.longest)
        return [best[0].text for best in written]

    def how_many_cut(self, texts: Sequence[str]) -> int:
        """How many documents are longer than what is read of them."""
        _listed(texts)
        task, tokenizer = self._summarising()
        return sum(len(tokens) > task.longest for tokens in tokenizer.encode(texts))

    def _summarising(self) -> tuple[Summarise, Tokenizer]:
        if not isinstance(self.task, Summarise) or self.tokenizer is None:
            raise UserError(f"{self.path}: was not trained to summarise")
        return self.task, self.tokenizer

    def generate(
        self, prompt: str = "", tokens: int = 200, sampling: Sampling = Sampling(), stop: tuple[str, ...] = ()
    ) -> Iterator[str]:
        """The text that follows `prompt`, in pieces as they come."""
        if not isinstance(self.config, GPT | RNNLM):
            raise UserError(f"{self.path}: holds a {type(self.config).__name__}, which writes no text of its own")
        tokenizer = self.words("it goes on from tokens but from no text")
        return generate(self.model, tokenizer, prompt, tokens, sampling, stop)

    def classify(self, things: Sequence[Picture], trees: Trees | None = None) -> list[str]:
        """The likeliest label of each text; or of each image, as a file, an array or an image of Pillow."""
        labels, chances = self.label_chances(things, trees)
        return [labels[place] for place in chances.argmax(-1).tolist()] if len(things) else []

    def label_chances(
        self, things: Sequence[Picture], trees: Trees | None = None
    ) -> tuple[tuple[str, ...], Float[Tensor, "thing label"]]:
        """The labels, and the probability of each for each text or image."""
        _listed(things, "images" if isinstance(self.task, ClassifyImages) else "texts")
        if isinstance(self.task, ClassifyImages):
            found = (Found(name_of(thing, place), "", thing) for place, thing in enumerate(things))
            answers = [_or_raise(answer) for _, answer in self.look(found)]
            return self.task.labels, torch.stack(answers) if answers else torch.empty(0, len(self.task.labels))
        texts = [thing for thing in things if isinstance(thing, str)]
        if len(texts) < len(things):
            raise UserError(f"{self.path}: reads texts, and was given something else")
        if not isinstance(self.task, Classify) or self.tokenizer is None:
            raise UserError(f"{self.path}: was not trained to name labels")
        parses = self._parses(texts, trees)
        return self.task.labels, label_chances(self.model, self.tokenizer, texts, self.task.longest, trees=parses)

    def look(self, found: Iterable[Found]) -> Iterator[tuple[Found, Tensor | ImageError]]:
        """The probability of each label for any number of images, or what is wrong with one of them."""
        if not isinstance(self.task, ClassifyImages) or not isinstance(self.config, ViT):
            raise UserError(f"{self.path}: was not trained on images")
        view = View(self.config.image, self.config.channels, self.task.framing)
        return image_chances(self.model, self.task, view, found)

    def _parses(self, texts: Sequence[str], trees: Trees | None) -> Sequence[Parse] | None:
        """The tree of each text, checked to be its own."""
        if trees is None:
            if isinstance(getattr(self.config, "position", None), Tree):
                raise UserError(f"{self.path}: its Tree positions need the tree of each text; give them with --trees")
            return None
        if not isinstance(self.config, Transformer | BERT):
            raise ConfigError(f"{self.path}: holds a {type(self.config).__name__}, which reads no trees")
        parses = read_trees([trees]) if isinstance(trees, str | Path) else trees
        match_trees(parses, texts, lambda number: f"text {number + 1}")
        return parses

    def fill(self, texts: Sequence[str]) -> list[str]:
        """Each text with the likeliest words in place of `[MASK]`."""
        _listed(texts)
        return fill(self.model, self._fills(), texts)

    def guesses(self, texts: Sequence[str], nbest: int = 5) -> list[list[list[Guess]]]:
        """For each text and each `[MASK]` in it the likeliest words with their probability."""
        _listed(texts)
        return guesses(self.model, self._fills(), texts, nbest)

    def _fills(self) -> Tokenizer:
        if not isinstance(self.config, BERT) or not isinstance(self.config.head, MaskedLMHead):
            raise UserError(f"{self.path}: was not trained to fill in words; `regard train fill` makes such a run")
        return self.words("it fills in tokens but no words")

    def words(self, otherwise: str) -> Tokenizer:
        """The tokenizer; a folder without one is refused with what it lacks, and what then holds."""
        if self.tokenizer is None:
            lacks = self.extra.get("no_tokenizer", f"has no {TOKENIZER}")
            raise UserError(f"{self.path}: {lacks}, so {otherwise}")
        return self.tokenizer


def _listed(things: object, what: str = "texts") -> None:
    """Refuse a single one: a text is a sequence too, and each of its letters would be answered."""
    if isinstance(things, str | bytes | Path):
        raise ConfigError(f"a list of {what} is needed: put [ ] around a single one")


def _or_raise(answer: Tensor | ImageError) -> Tensor:
    if isinstance(answer, ImageError):
        raise answer
    return answer


def save_run(
    path: Path, config: Model, model: nn.Module, task: Task | None = None, tokenizer: Tokenizer | None = None
) -> None:
    """A model made in Python as a run folder that every verb takes."""
    with RunFolder(path).open() as folder:
        folder.write_config({"task": to_dict(task), "model": to_dict(config)})
        folder.write_weights(model.state_dict())
        if tokenizer is not None:
            tokenizer.save(path / TOKENIZER)


def read_model(path: Path) -> tuple[Model, Task | None]:
    """What a run folder holds, by its config alone: its weights are there, and are not read."""
    settings = read_config(path)
    if (path / COLUMNS).exists():
        raise UserError(f"{path}: holds a table; `regard predict`, `explain` and `evaluate` are for it")
    try:
        config = from_dict(Model, settings.get("model"), "model")
        task = from_dict(Task | None, settings.get("task"), "task")
    except ConfigError as error:
        own = "; a part of your own is known once its module is imported (REGARD_PARTS names modules to import)"
        raise ConfigError(f"{path / CONFIG}: {error}{own if 'unknown kind' in str(error) else ''}") from None
    if not (path / WEIGHTS).exists():
        raise UserError(f"{path}: has no {WEIGHTS} yet; let training reach its first check, or go on with --resume")
    return config, task


def load_run(path: Path) -> Run:
    """A run folder as a model in evaluation mode with its best weights."""
    config, task = read_model(path)
    weights = tensors.load(path / WEIGHTS)
    with torch.device("meta"):  # a config of absurd size must not take all memory before it is refused
        tensors.check_weights(config.build(), weights, path / WEIGHTS)
    model = config.build()
    model.load_state_dict(weights)
    tokenizer = Tokenizer.load(path / TOKENIZER) if (path / TOKENIZER).exists() else None
    vocab = getattr(config, "vocab", None)
    if tokenizer is not None and vocab is not None and tokenizer.vocab > vocab:
        raise UserError(f"{path / TOKENIZER}: has {tokenizer.vocab} tokens, the model only {vocab}")
    return Run(path, config, model.eval(), task, tokenizer)
