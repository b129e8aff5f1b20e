"""Recurrent cells as a scan over a padded batch, so that they can be exported for any batch and length.

A packed sequence has a shape that depends on the data, and torch's own cells are traced as so many copies as the text
of the trace has tokens. Here one step is traced; at padding it keeps the state as it is.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.shapes import States, Valid

Carry = tuple[Tensor, ...]  # LSTM: hidden and cell; GRU: hidden. Each: layers, batch, width
Step = Callable[[Any, Any], Any]  # carried tensors and a token with whether it is shown; to both again


def scan_cells(
    cells: nn.LSTM | nn.GRU, x: States, carry: Carry | None, valid: Valid | None
) -> tuple[Float[Tensor, "batch length hidden"], Carry]:
    """What the cells give: states, zero at padding, and what is carried at the end of each text."""
    directions = 2 if cells.bidirectional else 1
    shown = torch.ones_like(x[..., 0], dtype=torch.bool) if valid is None else valid
    parts, carried = 2 if isinstance(cells, nn.LSTM) else 1, []
    for layer in range(cells.num_layers):
        sides = []
        for side in range(directions):
            number = layer * directions + side
            zeros = x.new_zeros(x.shape[0], cells.hidden_size)
            init = [zeros.clone() for _ in range(parts)] if carry is None else [each[number] for each in carry]
            states, last = _scan(_step(cells.all_weights[number], parts), init, x, shown, reverse=side == 1)
            carried.append(last)
            sides.append(states * shown[..., None])
        x = torch.cat(sides, -1)
    return x, tuple(torch.stack(each) for each in zip(*carried, strict=True))


def _scan(step: Step, init: list[Tensor], x: Tensor, shown: Tensor, *, reverse: bool) -> tuple[Tensor, list[Tensor]]:
    from torch._higher_order_ops import scan  # of torch.export; slow to import

    # Backwards, padding comes before the text, and changes nothing there either.
    inputs = x.transpose(0, 1), shown.transpose(0, 1)[..., None]
    last, states = scan(step, init, inputs, reverse=reverse)
    return states.transpose(0, 1), list(last)


def _step(weights: Sequence[Tensor], parts: int) -> Step:
    """One token of a layer in one direction; gates are in torch's order."""
    by_input, by_state, *biases = weights
    input_bias, state_bias = biases or (None, None)

    def lstm(carry: Any, values: Any) -> Any:
        (hidden, cell), (token, shown) = carry, values
        gates = nn.functional.linear(token, by_input, input_bias) + nn.functional.linear(hidden, by_state, state_bias)
        write, keep, new, show = gates.chunk(4, -1)
        after = keep.sigmoid() * cell + write.sigmoid() * new.tanh()
        output = torch.where(shown, show.sigmoid() * after.tanh(), hidden)
        return [output, torch.where(shown, after, cell)], output.clone()

    def gru(carry: Any, values: Any) -> Any:
        (hidden,), (token, shown) = carry, values
        of_token = nn.functional.linear(token, by_input, input_bias).chunk(3, -1)
        of_state = nn.functional.linear(hidden, by_state, state_bias).chunk(3, -1)
        reset, keep = ((one + other).sigmoid() for one, other in zip(of_token[:2], of_state[:2], strict=True))
        new = (of_token[2] + reset * of_state[2]).tanh()
        output = torch.where(shown, (1 - keep) * new + keep * hidden, hidden)
        return [output], output.clone()

    return lstm if parts == 2 else gru
