"""Tables: rows that look at other rows."""
