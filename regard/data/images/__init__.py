"""Images: files and archives to batches of pixels."""
