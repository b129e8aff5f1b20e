"""Every second block with another attention: which has which, and what is refused."""

from dataclasses import replace

import pytest
import torch

from regard.core.errors import ConfigError
from regard.models import BERT, GPT, NPT, DecoderOnly, Transformer, ViT
from regard.parts import Additive, ALiBi, Compressed, Full, Linformer, Window
from regard.parts.attention.additive import AdditiveAttention
from regard.parts.attention.compressed import CompressedAttention
from regard.parts.attention.full import FullAttention
from regard.parts.attention.window import WindowAttention
from regard.parts.blocks import Block, Stack
from tests.helpers import close
from tests.models.samples import BASES, build, inputs_for


def kinds(blocks) -> list[type]:
    return [type(block.attend.attend) for block in blocks]


@pytest.mark.parametrize("kind", [GPT, BERT, Transformer, DecoderOnly, ViT])
def test_blocks_take_turns_in_every_stack(kind):
    model = replace(BASES[kind], layers=5, attention=Window(reach=3), alternate=Compressed()).build()
    one, other = WindowAttention, CompressedAttention
    stacks = [module for module in model.modules() if isinstance(module, Stack)]
    assert stacks
    for stack in stacks:
        assert kinds(stack.blocks) == [one, other, one, other, one]


def test_a_table_takes_turns_between_rows_and_columns():
    """Its blocks run in this order: rows, columns, rows, columns."""
    model = replace(BASES[NPT], attention=Window(reach=3), alternate=Full()).build()
    assert [type(block.attend.attend) for block in model.rows] == [WindowAttention] * 2
    assert kinds(model.columns) == [FullAttention] * 2


def test_without_an_alternate_all_blocks_are_alike():
    assert kinds(replace(BASES[GPT], layers=3, attention=Window()).build().decoder.blocks) == [WindowAttention] * 3


def test_looking_across_follows_the_block_where_it_can():
    model = replace(BASES[Transformer], layers=2, attention=Window(), alternate=Additive()).build()
    assert [type(block.cross.attend) for block in model.decoder.blocks] == [FullAttention, AdditiveAttention]


def test_the_second_block_is_that_of_a_model_made_of_the_alternate():
    """The same weights, put together by hand from two models of one attention each."""
    mixed = replace(BASES[GPT], layers=2, attention=Window(reach=3), alternate=Full())
    model, tokens = build(mixed), inputs_for(mixed)["tokens"]
    near, far = (build(replace(mixed, attention=one, alternate=None)) for one in (Window(reach=3), Full()))
    near.load_state_dict(model.state_dict())
    far.load_state_dict(model.state_dict())
    near.decoder.add_module("1", far.decoder.blocks[1])
    close(model(tokens), near(tokens))
    assert not torch.allclose(model(tokens), far(tokens), atol=1e-3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alternate": Linformer()}, "alternate: Linformer cannot hide the future"),
        ({"attention": Linformer(), "alternate": Full()}, "attention: Linformer cannot hide the future"),
        ({"alternate": Compressed(), "position": ALiBi()}, "position: ALiBi .* Compressed attention has none"),
    ],
)
def test_an_alternate_keeps_to_the_rules_of_attention(changes, message):
    with pytest.raises(ConfigError, match=message):
        replace(BASES[GPT], **changes).build()


def test_one_layer_has_no_second_block():
    assert sum(isinstance(m, Block) for m in replace(BASES[GPT], layers=1, alternate=Window()).build().modules()) == 1
