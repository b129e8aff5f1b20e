"""Serving: every model over HTTP, with OpenAI's routes for language models.

HTTP → checks and limits → queue → worker process → scheduler → model.step → tokens → stream
"""
