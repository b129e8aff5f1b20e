"""Words for shapes. They are annotations at run time and checks under test (jaxtyping + beartype)."""

from jaxtyping import Bool, Float, Int
from torch import Tensor

Queries = Float[Tensor, "batch heads query size"]
Keys = Float[Tensor, "batch heads key size"]
Values = Float[Tensor, "batch heads key value"]  # what is looked up may be of another size
Output = Float[Tensor, "batch heads query value"]
Pattern = Float[Tensor, "batch heads query slot"]  # a slot is a key, or what an attention folds keys into

Tokens = Int[Tensor, "batch length"]
Source = Int[Tensor, "texts source"]  # tokens of the text that a decoder looks back at
Valid = Bool[Tensor, "batch length"]  # True: a real token, False: padding
SourceValid = Bool[Tensor, "texts source"]
States = Float[Tensor, "batch length width"]
Stream = Float[Tensor, "batch length *cells width"]  # states, or the states of a row's cells
Selected = Float[Tensor, "batch selected *cells width"]  # the tokens that the block passes on
Memory = Float[Tensor, "texts source *cells width"]  # beams of one text share a row of it
Logits = Float[Tensor, "batch length vocab"]
Images = Float[Tensor, "batch channels height breadth"]
Labels = Float[Tensor, "batch labels"]
