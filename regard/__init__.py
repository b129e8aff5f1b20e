"""regard: every transformer from one attention operator."""
