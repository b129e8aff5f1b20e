"""Configs: what is written is read back, and every mistake is one line that names the key and the value."""

from dataclasses import dataclass
from typing import Any, Literal

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from regard.core.config import from_dict, from_yaml, override, to_dict, to_yaml
from regard.core.errors import ConfigError, UserError, did_you_mean
from regard.models import BERT, GPT, NPT, RNN, ClassifierHead, Model, Transformer, ViT
from regard.parts import (
    GELU,
    Additive,
    BigBird,
    Compressed,
    Experts,
    Full,
    LayerNorm,
    Learned,
    Linformer,
    PreNorm,
    ReLU,
    Rotary,
    Shaw,
    SwiGLU,
    T5Bias,
    Tree,
    Window,
)


@dataclass(frozen=True)
class Round:
    radius: float = 1.0


@dataclass(frozen=True)
class Square:
    side: int = 1
    inner: "Round | Square | None" = None


@dataclass(frozen=True)
class Picture:
    name: str
    shape: Round | Square = Round()
    size: int | None = None
    loud: bool = False
    mode: Literal["ink", "oil"] = "ink"
    marks: tuple[float, ...] = ()
    note: Any = None


def error_of(read, *given) -> str:
    with pytest.raises(ConfigError) as error:
        read(*given)
    message = str(error.value)
    assert len(message.splitlines()) == 1
    assert error.value.exit_code == 2
    assert isinstance(error.value, UserError)
    return message


shapes = st.recursive(
    st.builds(Round, radius=st.floats(allow_nan=False)),
    lambda inner: st.builds(Square, side=st.integers(), inner=st.none() | inner),
)
pictures = st.builds(
    Picture,
    name=st.text(),
    shape=shapes,
    size=st.none() | st.integers(),
    loud=st.booleans(),
    mode=st.sampled_from(["ink", "oil"]),
    marks=st.lists(st.floats(allow_nan=False)).map(tuple),
    note=st.none() | st.integers() | st.text(),
)


@given(pictures)
def test_what_is_written_is_read_back(picture):
    assert from_dict(Picture, to_dict(picture)) == picture
    assert from_dict(Picture, yaml.safe_load(to_yaml(picture))) == picture


@given(pictures, st.integers())
def test_an_override_changes_its_key_and_nothing_else(picture, size):
    changed = override(picture, {"size": size})
    assert changed.size == size
    assert override(changed, {"size": picture.size}) == picture


def test_a_kind_alone_means_its_defaults():
    assert from_dict(Picture, {"name": "x", "shape": "Square"}).shape == Square()
    assert from_dict(Model, {"kind": "GPT", "vocab": 5, "attention": "BigBird"}).attention == BigBird()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"name": "x", "sise": 3}, ["sise", "did you mean 'size'?"]),
        ({"name": "x", "shape": {"kind": "Square", "sid": 3}}, ["shape.sid", "did you mean 'shape.side'?"]),
        ({"name": "x", "zzz": 3}, ["zzz", "known: ", "loud", "marks"]),
        ({"name": "x", "shape": "Sqare"}, ["shape", "'Sqare'", "did you mean 'Square'?"]),
        ({"name": "x", "shape": "square"}, ["shape", "did you mean 'Square'?"]),
        ({"name": "x", "shape": {"radius": 2.0}}, ["shape", "kind", "Round, Square"]),
        ({"name": "x", "shape": {"kind": ["Square"]}}, ["shape", "['Square']"]),
        ({"name": "x", "shape": {"kind": {"a": 1}}}, ["shape", "{'a': 1}"]),
        ({"name": "x", "shape": 3}, ["shape", "Round, Square", "3"]),
        ({"name": "x", "shape": None}, ["shape", "Round, Square", "None"]),
        ({"name": 3}, ["name", "text", "3"]),
        ({"name": "x", "size": "3"}, ["size", "a whole number", "'3'"]),
        ({"name": "x", "size": 3.0}, ["size", "a whole number", "3.0"]),
        ({"name": "x", "size": True}, ["size", "a whole number", "True"]),
        ({"name": "x", "loud": 1}, ["loud", "true or false", "1"]),
        ({"name": "x", "loud": "yes"}, ["loud", "true or false", "'yes'"]),
        ({"name": "x", "mode": "oli"}, ["mode", "'oli'", "one of ink, oil"]),
        ({"name": "x", "mode": ["oil"]}, ["mode", "['oil']"]),
        ({"name": "x", "marks": 3}, ["marks", "a list", "3"]),
        ({"name": "x", "marks": [1, "two"]}, ["marks[1]", "a number", "'two'"]),
        ({"name": "x", "marks": [True]}, ["marks[0]", "a number", "True"]),
        (
            {"name": "x", "shape": {"kind": "Square", "inner": {"kind": "Round", "radius": "big"}}},
            ["shape.inner.radius"],
        ),
        ({"name": "x", "shape": {"kind": "Round", "radius": [1, "a\nb"]}}, ["shape.radius", "a number"]),
        ({"name": "x", 7: 1}, ["'7'"]),
        ({"name": "x", None: 1}, ["'None'"]),
        ({"name": "x", "a\nb": 1}, ["'a\\nb'"]),
        ({}, ["Picture", "needs name"]),
        ({"kind": "Circle", "name": "x"}, ["Picture", "'Circle'"]),
        ({"kind": ["Picture"], "name": "x"}, ["Picture", "['Picture']"]),
        ([], ["Picture", "[]"]),
        (None, ["Picture", "None"]),
        ("Round", ["Picture", "'Round'"]),
    ],
    ids=repr,
)
def test_a_mistake_is_named_with_its_key_and_value(data, words):
    message = error_of(from_dict, Picture, data)
    for word in words:
        assert word in message, message


def test_numbers_that_yaml_reads_as_text_are_numbers():
    assert from_dict(Picture, yaml.safe_load("{name: x, marks: [3e-4, 1, .5, 2]}")).marks == (3e-4, 1.0, 0.5, 2.0)
    assert all(type(mark) is float for mark in from_dict(Picture, {"name": "x", "marks": [1]}).marks)


class TestOverride:
    base = GPT(vocab=5, attention=Full(scale=0.5))

    def test_dotted_keys_reach_inside(self):
        assert override(self.base, {"attention.scale": 0.25}).attention == Full(scale=0.25)
        deep = GPT(vocab=5, feed=Experts(expert=SwiGLU()))
        assert override(deep, {"feed.expert.hidden": 24}).feed.expert == SwiGLU(hidden=24)

    def test_another_kind_starts_from_its_own_defaults(self):
        assert override(self.base, {"attention": "BigBird"}).attention == BigBird()

    @pytest.mark.parametrize("flipped", [False, True])
    def test_a_kind_and_its_settings_may_come_in_any_order(self, flipped):
        changes = [("attention", "BigBird"), ("attention.block", 32), ("width", 64)]
        changed = override(self.base, dict(changes[::-1] if flipped else changes))
        assert changed == GPT(vocab=5, width=64, attention=BigBird(block=32))

    def test_a_config_may_be_given_as_it_is(self):
        assert override(self.base, {"attention": Window(reach=3)}).attention == Window(reach=3)

    def test_neither_the_config_nor_the_changes_are_changed(self):
        changes = {"attention": {"kind": "BigBird"}, "attention.block": 32}
        override(self.base, changes)
        assert changes == {"attention": {"kind": "BigBird"}, "attention.block": 32}
        assert self.base == GPT(vocab=5, attention=Full(scale=0.5))

    def test_optional_parts_may_be_added_and_taken_away(self):
        added = override(self.base, {"query_norm": "RMSNorm", "query_norm.eps": 0.1})
        assert added.query_norm is not None
        assert override(added, {"query_norm": None}).query_norm is None

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"widht": 3}, ["widht", "did you mean 'width'?"]),
            ({"atention.scale": 3}, ["atention", "did you mean 'attention'?"]),
            ({"attention.scael": 3}, ["attention.scael", "did you mean 'attention.scale'?"]),
            ({"width.scale": 3}, ["width.scale", "'width' has no settings below it"]),
            ({"query_norm.eps": 3}, ["query_norm.eps", "'query_norm' has no settings below it"]),
            ({"attention": "BigBrid"}, ["attention", "did you mean 'BigBird'?"]),
            ({"attention": "BigBird", "attention.blok": 3}, ["attention.blok", "did you mean 'attention.block'?"]),
            ({"width": "wide"}, ["width", "a whole number", "'wide'"]),
            ({"width": 30}, ["width 30", "heads 4"]),
            ({"": 3}, ["''"]),
            ({"attention.": 3}, ["attention."]),
        ],
        ids=repr,
    )
    def test_a_mistake_is_named(self, changes, words):
        message = error_of(override, self.base, changes)
        for word in words:
            assert word in message, message


class TestYaml:
    @pytest.mark.parametrize(
        "text",
        [
            "{",
            "a: b: c",
            "\t- x",
            "!!python/object:os.system {}",
            "&a [*a, *b]",
            "a: 2020-13-45",
            "? [x]\n: y",
            "[" * 5000,
        ],
        ids=lambda text: text[:20],
    )
    def test_what_is_not_yaml_is_one_line_that_names_the_file(self, text, tmp_path):
        path = tmp_path / "broken.yaml"
        path.write_text(text)
        assert str(path) in error_of(from_yaml, GPT, path)

    @pytest.mark.parametrize("content", [b"", b"- 1\n", b"5", b"\xff\xfe\x00", b"a: \x00"], ids=repr)
    def test_nor_is_another_kind_of_file(self, content, tmp_path):
        path = tmp_path / "other.yaml"
        path.write_bytes(content)
        assert str(path) in error_of(from_yaml, GPT, path)

    def test_a_missing_file_or_a_folder_is_named(self, tmp_path):
        assert "none.yaml" in error_of(from_yaml, GPT, tmp_path / "none.yaml")
        assert str(tmp_path) in error_of(from_yaml, GPT, tmp_path)

    def test_a_mistake_in_a_file_names_file_key_and_value(self, tmp_path):
        path = tmp_path / "config.yaml"
        path.write_text("kind: GPT\nvocab: 5\nattention: {kind: BigBird, blok: 3}\n")
        message = error_of(from_yaml, GPT, path)
        assert str(path) in message
        assert "attention.blok" in message
        assert "'attention.block'" in message

    def test_any_language_may_be_written(self, tmp_path):
        picture, path = Picture(name="Größe 大小"), tmp_path / "config.yaml"
        path.write_text(to_yaml(picture), encoding="utf-8")
        assert "大小" in path.read_text(encoding="utf-8")
        assert from_yaml(Picture, path) == picture


SIZES: dict[str, Any] = {"width": 16, "layers": 2, "heads": 2}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: GPT(vocab=5, width=30, heads=4), ["width 30", "heads 4"]),
        (lambda: GPT(vocab=5, width=0), ["width", "0"]),
        (lambda: GPT(vocab=5, layers=0), ["layers", "0"]),
        (lambda: GPT(vocab=5, heads=-1), ["heads", "-1"]),
        (lambda: GPT(vocab=5, heads=4, kv_heads=3), ["kv_heads", "3", "4"]),
        (lambda: GPT(vocab=5, kv_heads=0), ["kv_heads", "0"]),
        (lambda: GPT(vocab=5, head_size=0), ["head_size", "0"]),
        (lambda: GPT(vocab=5, dropout=1.0), ["dropout", "1.0"]),
        (lambda: GPT(vocab=5, dropout=-0.1), ["dropout", "-0.1"]),
        (lambda: GPT(vocab=-1), ["vocab", "-1"]),
        (lambda: GPT(**SIZES).build(), ["vocab", "0"]),  # a config may wait for its vocabulary, a model may not
        (lambda: Transformer(vocab=5, target_vocab=0), ["target_vocab", "0"]),
        (lambda: Transformer(vocab=5, decoder_layers=0), ["decoder_layers", "0"]),
        (lambda: BERT(vocab=5, segments=-1), ["segments", "-1"]),
        (lambda: ClassifierHead(labels=-1), ["labels", "-1"]),
        (lambda: ViT(labels=3, image=30, patch=4), ["image 30", "patch 4"]),
        (lambda: ViT(labels=3, patch=0).build(), ["patch", "0"]),
        (lambda: ViT(labels=0).build(), ["labels", "0"]),
        (lambda: NPT(categories=()), ["categories", "()"]),
        (lambda: NPT(categories=(0, -2)), ["categories", "-2"]),
        (lambda: RNN(vocab=5, width=7), ["width", "7"]),
        (lambda: RNN(vocab=5, layers=0), ["layers", "0"]),
        (lambda: RNN(vocab=5, dropout=2.0), ["dropout", "2.0"]),
        (lambda: RNN(vocab=-1), ["vocab", "-1"]),
        (lambda: BigBird(block=0), ["block", "0"]),
        (lambda: BigBird(window=2), ["window", "odd", "2"]),
        (lambda: BigBird(random=-1), ["random", "-1"]),
        (lambda: Window(reach=0), ["reach", "0"]),
        (lambda: Linformer(slots=0), ["slots", "0"]),
        (lambda: Compressed(stride=0), ["stride", "0"]),
        (lambda: Learned(length=0), ["length", "0"]),
        (lambda: Shaw(reach=-1), ["reach", "-1"]),
        (lambda: T5Bias(count=3), ["count", "3"]),
        (lambda: T5Bias(count=32, far=16), ["far", "16"]),
        (lambda: Experts(count=2, active=3), ["active 3", "count 2"]),
        (lambda: ReLU(hidden=0), ["hidden", "0"]),
        (lambda: SwiGLU(hidden=-8), ["hidden", "-8"]),
        (lambda: GPT(vocab=5, attention=Linformer(), **SIZES).build(), ["attention", "Linformer"]),
        (lambda: Transformer(vocab=5, attention=Linformer(), **SIZES).build(), ["attention", "Linformer"]),
        (lambda: GPT(vocab=5, position=Tree(), **SIZES).build(), ["Tree"]),
        (lambda: BERT(vocab=5, attention=Linformer(), position=Shaw(), **SIZES).build(), ["Shaw", "Linformer"]),
        (
            lambda: GPT(vocab=5, attention=Compressed(), position=Shaw(), **SIZES).build(),
            ["Shaw", "Compressed"],
        ),
        (lambda: GPT(vocab=5, width=15, heads=5, position=Rotary()).build(), ["3", "rotary"]),
        (lambda: Transformer(vocab=5, width=15, heads=5).build(), ["width 15", "sinusoid"]),
    ],
)
def test_a_rule_between_settings_is_named_with_its_values(make, words):
    message = error_of(make)
    for word in words:
        assert word in message, message


def test_a_rule_that_a_part_breaks_is_named_with_the_key_of_the_part():
    data = {"kind": "GPT", "vocab": 5, "attention": {"kind": "Window", "reach": 0}}
    assert error_of(from_dict, Model, data).startswith("attention.reach")


def test_attention_over_a_source_has_no_places_so_an_rnn_takes_no_window():
    assert from_dict(RNN, {"vocab": 5, "attention": "Additive"}).attention == Additive()
    assert "Window" in error_of(from_dict, RNN, {"vocab": 5, "attention": "Window"})


def test_defaults_are_shared_safely():
    """A config as a default value is one object for all: it must not be changeable."""
    with pytest.raises(AttributeError):
        GPT(vocab=5).attention.scale = 3  # type: ignore[misc]
    assert len({GPT(vocab=5), GPT(vocab=5), GPT(vocab=6)}) == 2


def test_configs_that_read_alike_are_alike():
    data = to_dict(GPT(vocab=5, feed=GELU(), wiring=PreNorm(), norm=LayerNorm()))
    assert data["feed"] == {"kind": "GELU", "hidden": None}
    assert next(iter(data)) == "kind"


@pytest.mark.parametrize(
    ("word", "answer"),
    [("blok", "did you mean 'block'?"), ("BLOCK", "did you mean 'block'?"), ("q", "known: block, seed")],
)
def test_the_nearest_word_is_suggested_or_all_of_them(word, answer):
    assert did_you_mean(word, {"seed", "block"}) == answer
