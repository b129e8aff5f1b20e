"""The tasks, each by itself."""
