"""Parts of a model of images: where patches stand, what comes before them, and what is read from them."""

import pytest
import torch

from regard.core.errors import ConfigError
from regard.models import BERT, ViT
from regard.parts import ClassToken, Convolutions, Grid, Mean, NoStem, Positions, Query
from regard.parts.positions.sinusoid import waves
from tests.helpers import close

SMALL = {"labels": 3, "image": 12, "patch": 4, "width": 16, "layers": 1, "heads": 2}


def test_grid_positions_say_row_and_column_and_nothing_of_what_stands_before():
    code = Grid(columns=3, before=2).build(16, 2, 8, causal=False)
    added = code.embed(torch.zeros(1, 14, 16), Positions.counting(14))[0]
    close(added[:2], torch.zeros(2, 16))
    for patch in range(12):
        row, column = divmod(patch, 3)
        expected = torch.cat([waves(torch.tensor(row), 8, 10000.0), waves(torch.tensor(column), 8, 10000.0)])
        close(added[2 + patch], expected)


def test_a_model_of_images_tells_the_grid_how_wide_it_is():
    assert ViT(position=Grid(), **SMALL).position_encoding() == Grid(columns=3, before=1)
    assert ViT(position=Grid(), pool=Mean(), **SMALL).position_encoding() == Grid(columns=3, before=0)
    assert ViT(position=Grid(columns=5), **SMALL).position_encoding() == Grid(columns=5)


@pytest.mark.parametrize(
    "wrong", [lambda: BERT(vocab=5, position=Grid()), lambda: BERT(vocab=5, width=6, heads=1, position=Grid(2))]
)
def test_a_grid_that_cannot_be_meant(wrong):
    with pytest.raises(ConfigError, match=r"columns|divisible by 4"):
        wrong().build()


@pytest.mark.parametrize(("channels", "shrink"), [((4,), 1), ((4,), 2), ((4, 8), 2), ((4, 8), 4), ((4, 8, 6), 2)])
def test_a_stem_shrinks_by_what_it_says_and_no_sooner_than_it_must(channels: tuple[int, ...], shrink: int):
    stem = Convolutions(channels, shrink).build(3)
    assert stem(torch.randn(2, 3, 16, 16)).shape == (2, channels[-1], 16 // shrink, 16 // shrink)
    strides = [convolution.stride[0] for convolution in stem.convolutions]
    assert strides == sorted(strides)


@pytest.mark.parametrize("wrong", [{"channels": ()}, {"shrink": 3}, {"shrink": 8}, {"channels": (4, 0)}, {"shrink": 0}])
def test_stems_that_cannot_be_meant(wrong: dict):
    with pytest.raises(ConfigError, match=r"channels|shrink"):
        Convolutions(**wrong)
    with pytest.raises(ConfigError, match="by which the stem shrinks"):
        ViT(stem=Convolutions(), labels=2, image=9, patch=3)


def test_mean_and_query_read_patches_and_the_token_reads_itself():
    states = torch.randn(2, 9, 16)
    close(Mean().build(16, 2)(states), states.mean(1))
    token = ClassToken().build(16, 2)
    close(token(token.enter(states)), token.token[0].expand(2, -1))
    query = Query().build(16, 2)
    assert query(states).shape == (2, 16)
    close(query(states[:, torch.randperm(9)]), query(states))
    assert NoStem().build(3)(states) is states


def test_an_image_with_other_channels_is_named():
    with pytest.raises(ConfigError, match="of 1 channels and was given 3"):
        ViT(**SMALL).build()(torch.zeros(1, 3, 12, 12))
