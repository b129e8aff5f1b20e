"""The benchmark of tables: files, splits, methods, scores, what is kept of them, and the report."""
