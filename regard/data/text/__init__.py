"""Text: files of lines, documents and records to token batches."""
