"""Heads made by hand are known for what they are, and silencing one is what it says."""

import torch

from regard.data.trees.tree_positions import TokenTree
from regard.models import GPT
from regard.studies.heads.importance import masked
from regard.studies.heads.roles import main_role, role_shares, word_pattern
from regard.studies.heads.subject import attentions_of
from regard.studies.heads.syntax import Arc, attends_to_head

TOKENS = torch.tensor([[5, 1, 5, 2, 5, 3]])
LENGTH = TOKENS.shape[1]
DELIMITERS = torch.tensor([False, False, True, False, False, False])


def pattern_of(look: dict[int, int]) -> torch.Tensor:
    """Each query looks at one key only, but for a crumb everywhere; row i of `look` says where."""
    pattern = torch.full((1, 1, LENGTH, LENGTH), 0.001)
    for query, key in look.items():
        pattern[0, 0, query, key] = 1.0
    return pattern / pattern.sum(-1, keepdim=True)


def shares(look: dict[int, int]) -> dict[str, tuple[float, float]]:
    by_role = role_shares(pattern_of(look), TOKENS, torch.ones(1, LENGTH, dtype=torch.bool), DELIMITERS)
    return {name: (float(share[0]), uniform) for name, (share, uniform) in by_role.items()}


def test_heads_are_named_by_their_role():
    rows = range(LENGTH)
    assert main_role(shares({i: max(i - 1, 0) for i in rows})) == "previous token"
    assert main_role(shares({i: min(i + 1, LENGTH - 1) for i in rows})) == "next token"
    assert main_role(shares({i: i for i in rows})) == "itself"
    assert main_role(shares(dict.fromkeys(rows, 0))) == "first token"
    assert main_role(shares(dict.fromkeys(rows, 3))) == "delimiter"
    assert main_role(shares({0: 2, 2: 4, 4: 0, 1: 4, 3: 5, 5: 2})) == "same word elsewhere"
    assert main_role(shares({})) == "spread", "a head that looks at all alike"


def test_uniform_attention_has_uniform_shares():
    for share, uniform in shares({}).values():
        assert abs(share - uniform) < 1e-5


def test_padding_does_not_count():
    valid = torch.tensor([[True, True, True, False, False, False]])
    pattern = torch.rand(1, 2, LENGTH, LENGTH).masked_fill(~valid[:, None, None, :], 0.0)
    pattern = pattern / pattern.sum(-1, keepdim=True)
    short = role_shares(pattern[..., :3, :3], TOKENS[:, :3], valid[:, :3], DELIMITERS)
    for name, (share, uniform) in role_shares(pattern, TOKENS, valid, DELIMITERS).items():
        torch.testing.assert_close(share, short[name][0])
        assert abs(uniform - short[name][1]) < 1e-6


def test_attention_between_words_is_gathered_from_their_tokens():
    """Words 0 and 1, the first in two pieces: both hang from word 1."""
    tree = TokenTree((0, 0, 1), torch.tensor([1, 0]), torch.zeros(2, 2, dtype=torch.int16))
    pattern = torch.tensor([[[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.5, 0.3, 0.2]]])
    words = word_pattern(pattern, tree, 2)
    torch.testing.assert_close(words, torch.tensor([[[0.45, 0.55], [0.8, 0.2]]]))
    assert attends_to_head(words, [Arc(0, 1, "det")]).tolist() == [[True]]
    assert attends_to_head(words, [Arc(1, 1, "det")]).tolist() == [[False]], "a word does not look at itself"


def test_masking_a_head_zeroes_its_part_of_the_output_projection():
    model = GPT(vocab=7, width=16, layers=2, heads=4, dropout=0.0).build().eval()
    heads = attentions_of(model)["decoder.1.attend"]
    before = model(TOKENS)
    with masked(heads, 2):
        hushed = model(TOKENS)
    torch.testing.assert_close(model(TOKENS), before)
    with torch.no_grad():
        heads.out.weight[:, 2 * heads.head_size : 3 * heads.head_size] = 0
    torch.testing.assert_close(model(TOKENS), hushed)
    assert not torch.allclose(hushed, before)
