"""Tables: files of rows and columns, and batches of them."""
