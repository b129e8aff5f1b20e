"""One token at a time, at the speed of the memory: the step of a block, compiled ahead of time for this machine."""

from regard.decode.one_token.attach import compile_steps

__all__ = ["compile_steps"]
