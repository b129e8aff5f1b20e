"""The same question to a model of `transformers` and to ours: logits, patterns and what is written greedily."""

from typing import Any

import torch
from torch import Tensor

from regard.parts import Padding, listen
from tests.interop.families import VOCAB

Answers = tuple[Tensor, Tensor, dict[str, Tensor], dict[str, Tensor], Tensor | None]


def tokens(*shape: int) -> Tensor:
    return torch.randint(3, VOCAB - 2, shape, generator=torch.Generator().manual_seed(7))


def right_padding(batch: int, length: int) -> Tensor:
    valid = torch.ones(batch, length, dtype=torch.bool)
    for row in range(1, batch):
        valid[row, length - 2 * row :] = False
    return valid


def ask_both(kind: str, theirs: Any, ours: Any) -> Answers:
    """Logits of both, patterns of both by our names, and which queries are real."""
    with torch.no_grad(), listen(ours) as heard:
        if kind == "causal":
            given, valid = tokens(3, 11), right_padding(3, 11)
            answer = theirs(given, attention_mask=valid.long(), output_attentions=True)
            mine = ours(given, Padding(valid))
            return answer.logits, mine, named("decoder", "attend", answer.attentions), heard, valid
        if kind == "encoder":
            return (*_encoders(theirs, ours), heard, right_padding(3, 11))
        if kind == "pictures":
            given = torch.rand(2, theirs.config.num_channels, 16, 16, generator=torch.Generator().manual_seed(3))
            answer = theirs(given, output_attentions=True)
            return answer.logits, ours(given), named("encoder", "attend", answer.attentions), heard, None
        source, target, valid = tokens(3, 13), tokens(3, 15), right_padding(3, 13)
        source = source.masked_fill(~valid, theirs.config.pad_token_id)
        answer = theirs(source, attention_mask=valid.long(), decoder_input_ids=target, output_attentions=True)
        mine = ours(source, target, valid)
        patterns = named("encoder", "attend", [a * valid[:, None, :, None] for a in answer.encoder_attentions])
        patterns |= named("decoder", "attend", answer.decoder_attentions)
        patterns |= named("decoder", "cross", answer.cross_attentions)
        heard |= {n: heard[n] * valid[:, None, :, None] for n in heard if n.startswith("encoder")}
        return answer.logits, mine, patterns, heard, None


def _encoders(theirs: Any, ours: Any) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    valid = right_padding(3, 11)
    given = tokens(3, 11).masked_fill(~valid, theirs.config.pad_token_id or 0)
    kinds = (torch.arange(11) > 5).long().expand(3, -1) if ours.config.segments > 1 else None
    more = {} if kinds is None else {"token_type_ids": kinds}
    answer = theirs(given, attention_mask=valid.long(), output_attentions=True, **more)
    mine = ours(given, valid, kinds)
    if "start_logits" in answer:
        scores = torch.stack([answer.start_logits, answer.end_logits], -1)
    else:
        scores = next(answer[k] for k in ("logits", "prediction_logits", "last_hidden_state") if k in answer)
    return scores, mine, named("encoder", "attend", answer.attentions)


def named(side: str, part: str, patterns: Any) -> dict[str, Tensor]:
    assert len(patterns) > 0
    return {f"{side}.{layer}.{part}.pattern": pattern for layer, pattern in enumerate(patterns)}


def differences(kind: str, theirs: Any, ours: Any) -> tuple[float, float]:
    """The largest of logits and of every pattern, at real tokens."""
    logits, mine, patterns, heard, valid = ask_both(kind, theirs, ours)
    assert heard.keys() == patterns.keys()
    assert max(pattern.max() for pattern in patterns.values()) > 0.5, "patterns are flat: the test would see nothing"
    worst = 0.0
    for pattern_name, pattern in patterns.items():
        gap = (heard[pattern_name] - pattern).abs()
        worst = max(worst, float((gap if valid is None else gap * valid[:, None, :, None]).max()))
    gap = (mine - logits).abs()
    gap = gap[valid] if valid is not None and gap.dim() == 3 else gap
    return float(gap.max()), worst


def difference(kind: str, theirs: Any, ours: Any) -> float:
    return max(differences(kind, theirs, ours))


def same_greedy_tokens(kind: str, theirs: Any, ours: Any, count: int = 6) -> bool:
    """Whether both write the same tokens, ours by its cache, one step at a time."""
    with torch.no_grad():
        if kind == "causal":
            given = tokens(1, 5)
            state, new = ours.init_state(), given
            after = given.shape[1]
        else:
            source = tokens(1, 7)
            state, new = ours.init_state(source), torch.tensor([[theirs.config.decoder_start_token_id or 0]])
            given, after = source, 1
        wanted = theirs.generate(
            given, do_sample=False, num_beams=1, max_new_tokens=count, eos_token_id=None, forced_eos_token_id=None
        )
        written = []
        for _ in range(count):
            logits, state = ours.step(new, state)
            new = logits[:, -1:].argmax(-1)
            written.append(int(new))
    return wanted[0, after:].tolist()[:count] == written
