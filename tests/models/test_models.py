"""What every model keeps to, with every part that it can be made of: read from the unions."""

from dataclasses import replace

import pytest
import safetensors.torch
import torch
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from torch import nn

from regard.core.config import from_dict, from_yaml, to_dict, to_yaml
from regard.core.errors import ConfigError
from regard.models import (
    BERT,
    GPT,
    NPT,
    RNN,
    RNNLM,
    DecoderOnly,
    Evoformer,
    InContext,
    Model,
    RNNClassifier,
    Transformer,
    ViT,
)
from regard.parts import (
    BigBird,
    Experts,
    Full,
    Learned,
    Linformer,
    MultiHead,
    NoNorm,
    NoPosition,
    Padding,
    Positions,
    RMSNorm,
    Rotary,
    SameDocument,
    Tree,
    Window,
    listen,
)
from tests.helpers import close, outputs_of, variants
from tests.models.samples import (
    BASES,
    COLUMNS,
    LENGTHS,
    VOCAB,
    alone,
    build,
    every_change,
    every_variation,
    inputs_for,
    name_of_model,
    needs_tree,
    real,
    table_inputs,
)

every_model = pytest.mark.parametrize("config", every_variation(), ids=name_of_model)
each_base = pytest.mark.parametrize("config", BASES.values(), ids=name_of_model)


def test_every_model_of_the_union_has_a_sample():
    assert set(BASES) == set(variants(Model))


@each_base
def test_answers_have_their_shape(config):
    shapes = [tuple(answer.shape) for answer in outputs_of(build(config)(**inputs_for(config)))]
    if isinstance(config, NPT):
        assert shapes == [(3, 23, max(count, 1)) for count in COLUMNS]
    elif isinstance(config, ViT):
        assert shapes == [(3, 4)]
    elif isinstance(config, RNNClassifier):
        assert shapes == [(3, 3)]
    elif isinstance(config, InContext):
        assert shapes == [(3, 23 - 15, 3)]
    elif isinstance(config, Evoformer):
        assert shapes == [(3, 23, 23, config.bins), (3, 5, 23, config.letters)]
    else:
        assert shapes == [(3, 23 if isinstance(config, GPT | BERT | RNNLM) else 8, VOCAB)]


@every_model
def test_a_text_reads_the_same_alone_as_padded_in_a_batch(config):
    model, given = build(config), inputs_for(config)
    together = list(outputs_of(model(**given)))
    for row, length in enumerate(LENGTHS):
        for answer, own in zip(together, outputs_of(model(**alone(given, row, length))), strict=True):
            close(real(given, answer, row, length), own, 2e-5)


@every_model
def test_gradients_reach_every_parameter(config):
    model = config.build()
    answers = list(outputs_of(model(**inputs_for(config))))
    if isinstance(config, InContext):  # what reads and answers numbers
        answers += outputs_of(model(**table_inputs(classes=0)))
    sum((answer * torch.randn_like(answer)).sum() for answer in answers).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any() or may_be_still(name), name


def may_be_still(name: str) -> bool:
    """A shift of all keys adds the same to every score, which softmax does not see; an expert may have no visitors;
    before the output of a column pass, which starts at zero, nothing moves yet."""
    inside_pass = name.startswith("column_pass.") and not name.startswith("column_pass.spread.out")
    return name.endswith(("key.bias", "key_norm.bias")) or ".experts." in name or inside_pass


@every_model
def test_weights_round_trip_through_safetensors(config):
    model, given = build(config), inputs_for(config)
    file = safetensors.torch.save(model.state_dict())
    torch.manual_seed(0)
    other = build(config)
    other.load_state_dict(safetensors.torch.load(file))
    for one, again in zip(outputs_of(model(**given)), outputs_of(other(**given)), strict=True):
        assert torch.equal(one, again)


@every_model
def test_listening_changes_no_answer(config):
    model, given = build(config), inputs_for(config)
    answers = list(outputs_of(model(**given)))
    with listen(model) as heard:
        watched = list(outputs_of(model(**given)))
    for one, other in zip(answers, watched, strict=True):
        close(one, other, 2e-5)
    for pattern in heard.values():
        total = pattern.sum(-1)
        close(total, (total > 0.5).float())


@every_model
def test_a_config_round_trips(config, tmp_path):
    check_round_trip(config, tmp_path)


def check_round_trip(config, folder) -> None:
    assert from_dict(Model, to_dict(config)) == config
    assert from_dict(Model, yaml.safe_load(to_yaml(config))) == config
    path = folder / "config.yaml"
    path.write_text(to_yaml(config), encoding="utf-8")
    assert from_yaml(type(config), path) == config


@st.composite
def combinations(draw):
    """A model with several parts replaced at once, as a dictionary: it may be one that is refused."""
    kind = draw(st.sampled_from(list(BASES)))
    data = to_dict(BASES[kind])
    for change in draw(st.lists(st.sampled_from(every_change(kind)), max_size=4)):
        data |= {name: to_dict(part) for name, part in change.items()}
    return data


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(combinations())
def test_parts_combine_freely_or_are_refused_in_one_line(drawn):
    try:
        config = from_dict(Model, drawn)
        model = build(config)
    except ConfigError as error:
        message = str(error)
        model = None
    if model is None:
        assert len(message.splitlines()) == 1
        return
    assume(not (isinstance(config, ViT) and needs_tree(config)))
    assert from_dict(Model, yaml.safe_load(to_yaml(config))) == config
    given = inputs_for(config)
    together = list(outputs_of(model(**given)))
    for answer, own in zip(together, outputs_of(model(**alone(given, 1, LENGTHS[1]))), strict=True):
        close(real(given, answer, 1, LENGTHS[1]), own, 1e-4)


def answers_of_a_fresh(config) -> list[torch.Tensor]:
    torch.manual_seed(0)
    model = build(config)
    return list(outputs_of(model(**inputs_for(config))))


def may_change_nothing(config) -> bool:
    """What is the same by another name: a norm that norms nothing, full attention in place of full attention; and a
    neighbourhood in the last block, where it holds all three columns of a table, or the token that sees all is read;
    and an embedding skip, which is the identity until it is trained; and the position that all blocks have."""
    alternate = getattr(config, "alternate", None)
    near_is_all = isinstance(config, NPT | ViT) and isinstance(alternate, BigBird | Window)
    skips = getattr(config, "embedding_skip", None) is not None
    no_norm = NoNorm() in (getattr(config, "query_norm", None), getattr(config, "embed_norm", None))
    other = getattr(config, "alternate_position", None)
    same_position = other is not None and (other == config.position or other == NoPosition())
    return no_norm or alternate == Full() or near_is_all or skips or same_position


@pytest.mark.parametrize("config", [c for c in every_variation() if not may_change_nothing(c)], ids=name_of_model)
def test_every_setting_reaches_the_model(config):
    """The same seed with another part answers otherwise: a setting that nobody reads would change nothing."""
    base = BASES[type(config)]
    if config != base:
        one, other = answers_of_a_fresh(config)[0], answers_of_a_fresh(base)[0]
        assert one.shape != other.shape or not torch.allclose(one, other)


@pytest.mark.parametrize("kind", [GPT, BERT, Transformer, DecoderOnly, ViT, NPT])
def test_the_settings_of_the_trunk_reach_every_attention(kind):
    settings = {"heads": 4, "kv_heads": 2, "head_size": 3, "bias": False, "query_norm": RMSNorm(), "dropout": 0.3}
    if hasattr(kind, "position"):
        settings["position"] = NoPosition()  # three numbers make no pairs
    model = replace(BASES[kind], **settings).build()
    for heads in (module for module in model.modules() if isinstance(module, MultiHead)):
        assert heads.query.weight.shape == (4 * 3, 16)
        assert heads.key.weight.shape == heads.value.weight.shape == (2 * 3, 16)
        assert {part.bias for part in (heads.query, heads.key, heads.value, heads.out)} == {None}
        assert isinstance(heads.query_norm, nn.RMSNorm)
    assert {module.p for module in model.modules() if isinstance(module, nn.Dropout)} == {0.3}


@each_base
def test_what_is_refused_is_refused_for_a_reason(config):
    """The battery skips what does not build; this is all that may not."""
    for change in every_change(type(config)):
        try:
            replace(config, **change).build()
            refused = False
        except ConfigError:
            refused = True
        (name, part), *_ = [*change.items(), ("", None)]
        writes_left_to_right = isinstance(config, GPT | Transformer | DecoderOnly)
        cannot = isinstance(part, Linformer) and writes_left_to_right
        cannot |= isinstance(part, Tree) and isinstance(config, GPT | DecoderOnly)
        cannot |= name == "position" and isinstance(config, NPT | InContext) and part != config.position
        cannot |= isinstance(config, InContext) and (
            name == "alternate" or (name == "attention" and type(part) is not Full)
        )
        cannot |= isinstance(config, Evoformer) and name == "attention" and not part.takes_bias
        assert refused == cannot, f"{name}={part}"


@pytest.mark.parametrize("config", [c for c in BASES.values() if hasattr(c, "dropout")], ids=name_of_model)
def test_dropout_is_for_training_only(config):
    model, given = config.build(), inputs_for(config)
    first, second = ([answer.clone() for answer in outputs_of(model(**given))] for _ in range(2))
    assert not torch.equal(first[0], second[0])
    model.eval()
    first, second = ([answer.clone() for answer in outputs_of(model(**given))] for _ in range(2))
    assert torch.equal(first[0], second[0])


@each_base
def test_two_models_of_one_config_share_no_weights(config):
    one, other = config.build(), config.build()
    places = {parameter.data_ptr() for parameter in one.parameters()}
    assert places.isdisjoint(parameter.data_ptr() for parameter in other.parameters())


@pytest.mark.parametrize("kind", [GPT, Transformer])
def test_tied_words_share_one_table(kind):
    tied, apart = ({name for name, _ in kind(vocab=VOCAB, tied=t).build().named_parameters()} for t in (True, False))
    assert apart - tied == {"embedding.head"}


def test_a_model_that_ends_its_position_table_says_so_before_it_fails():
    model = build(replace(BASES[BERT], position=Learned(length=12)))
    with pytest.raises(ConfigError, match=r"13 .* 12"):
        model(torch.zeros(1, 13, dtype=torch.long))


@pytest.mark.parametrize(
    ("kind", "setting"),
    [(Transformer, "decoder_layers"), (RNN, "layers"), (RNNLM, "layers"), (RNNClassifier, "layers"),
     (InContext, "cell_layers"), (Experts, "count")],
)  # fmt: skip
def test_more_layers_or_experts_than_could_be_meant_are_refused(kind, setting):
    with pytest.raises(ConfigError, match=f"{setting}: at most 4096"):
        kind(**{setting: 10**8})


def test_what_is_hidden_inside_a_text_does_not_reach_a_recurrent_reader():
    model, tokens = build(BASES[RNNClassifier]), torch.randint(VOCAB, (2, 9))
    shown = torch.tensor([[True, True, False, True, True, False, True, False, False], [False] * 9])
    other = torch.where(shown, tokens, (tokens + 1) % VOCAB)
    assert torch.equal(model(tokens, shown), model(other, shown))
    close(model(tokens, shown)[:1], model(tokens[:1, :7], shown[:1, :7]))
    assert not torch.equal(model(tokens, shown)[0], model(tokens)[0])


def test_an_image_of_another_size_is_named():
    with pytest.raises(ConfigError, match=r"20×20.*24×20"):
        build(BASES[ViT])(torch.zeros(1, 1, 24, 20))


def test_vit_reads_patches_row_by_row():
    """Moving one patch of the image moves one token, and no other."""
    patches = build(BASES[ViT]).patches
    image = torch.zeros(1, 1, 20, 20)
    image[..., 8:12, 4:8] = torch.randn(4, 4)  # third row of patches, second column
    moved = (patches(image) - patches(torch.zeros_like(image))).abs().sum(-1)[0]
    assert moved.nonzero().flatten().tolist() == [2 * 5 + 1]


def test_bert_knows_the_two_sentences_of_a_pair():
    model, given = build(BASES[BERT]), inputs_for(BASES[BERT])
    other = model(**given | {"segments": 1 - given["segments"]})
    assert not torch.allclose(model(**given), other)


def test_gpt_reads_a_packed_row_as_its_texts():
    model, lengths = build(GPT(vocab=VOCAB, position=Rotary(), width=16, layers=2, heads=2)), [5, 1, 9]
    tokens = torch.randint(VOCAB, (1, sum(lengths)))
    segment = torch.arange(3).repeat_interleave(torch.tensor(lengths))[None]
    index = torch.cat([torch.arange(length) for length in lengths])[None]
    packed = model(tokens, SameDocument(segment), Positions(index))
    close(packed, torch.cat([model(text) for text in tokens.split(lengths, 1)], 1))


def test_gpt_may_be_given_padding_on_the_left_and_where_its_text_begins():
    model, tokens = build(BASES[GPT]), torch.randint(VOCAB, (1, 6))
    padded = torch.cat([torch.zeros(1, 3, dtype=torch.long), tokens], 1)
    valid, index = torch.arange(9)[None] >= 3, (torch.arange(9) - 3).clamp(min=0)[None]
    close(model(padded, Padding(valid), Positions(index))[:, 3:], model(tokens))


class TestTable:
    """The model whose input is the whole table."""

    given = inputs_for(BASES[NPT], [23, 23])

    def test_the_value_of_a_hidden_cell_is_never_read(self):
        model = build(BASES[NPT])
        unknown = self.given["cells"].masked_fill(self.given["masked"], torch.nan)
        for one, other in zip(model(**self.given), model(**self.given | {"cells": unknown}), strict=True):
            assert torch.equal(one, other)

    def test_rows_have_no_order(self):
        model, order = build(BASES[NPT]), torch.randperm(23)
        shuffled = {name: value[:, order] for name, value in self.given.items()}
        for one, other in zip(model(**self.given), model(**shuffled), strict=True):
            close(one[:, order], other)

    def test_a_prediction_comes_from_other_rows(self):
        model, cells = build(BASES[NPT]), self.given["cells"].clone()
        cells[:, 5:] = cells[:, 5:].roll(1, 1)
        cells[:, 5:, 0] += 1
        before, after = model(**self.given), model(**self.given | {"cells": cells})
        assert not torch.allclose(before[0][:, 0], after[0][:, 0])

    def test_rows_that_were_read_once_answer_others_like_all_at_once(self):
        """New rows see the known ones, and are seen by nobody."""
        model, (cells, masked) = build(BASES[NPT]).eval(), (self.given["cells"], self.given["masked"])
        whole = model(cells, masked, (torch.arange(23) < 17).expand(2, -1))
        context = model.encode_context(cells[:, :17], masked[:, :17])
        for rows in (slice(17, 23), slice(19, 20)):
            for predicted, expected in zip(model.predict(context, cells[:, rows], masked[:, rows]), whole, strict=True):
                close(predicted, expected[:, rows])

    def test_columns_are_told_apart(self):
        model = build(NPT(categories=(0, 0), width=16, layers=1, heads=2))
        cells, masked = torch.randn(1, 4, 2), torch.zeros(1, 4, 2).bool()
        one, other = model(cells, masked), model(cells.flip(-1), masked)
        assert not torch.allclose(one[0], other[0])
        assert not torch.allclose(one[0], other[1])
