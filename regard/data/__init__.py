"""Files to rows to batches: text, images, tables and dependency trees, each in a folder of its own."""
