"""Arrow tables as frames of pandas' own types."""

import pandas as pd
import pyarrow

from regard.data.tables.types import plain

_NULLABLE = (pd.BooleanDtype, pd.Int8Dtype, pd.Int16Dtype, pd.Int32Dtype, pd.Int64Dtype)
_UNSIGNED = (pd.UInt8Dtype, pd.UInt16Dtype, pd.UInt32Dtype, pd.UInt64Dtype)
_INTEGERS = {pyarrow.from_numpy_dtype(kind().numpy_dtype): kind() for kind in (*_NULLABLE, *_UNSIGNED)}


def from_arrow(table: pyarrow.Table) -> pd.DataFrame:
    """An Arrow table as a frame in which whole numbers and booleans stay what they are where some are missing."""
    chosen = [place for place, name in enumerate(table.column_names) if not name.startswith("__index_level_")]
    table = table.select(chosen).replace_schema_metadata(None)  # an index of pandas' own is a column if it has a name
    frame = table.to_pandas(types_mapper=_INTEGERS.get, date_as_object=False)
    columns = {place: plain(frame.iloc[:, place]) for place in range(frame.shape[1])}
    return pd.DataFrame(columns, index=frame.index).set_axis(frame.columns, axis=1)
