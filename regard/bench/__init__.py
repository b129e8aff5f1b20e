"""What this machine gives with regard: measurements of two minutes in all, beside other libraries where installed."""

from regard.bench.measurement import Figure, Measurement
from regard.bench.measurements import as_dict, busy, choose, run
from regard.bench.sizes import Sizes

__all__ = ["Figure", "Measurement", "Sizes", "as_dict", "busy", "choose", "run"]
