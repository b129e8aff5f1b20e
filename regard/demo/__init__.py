"""The demo: three models made in about two minutes, with what each of them looked at. Needs no files and no network."""

from regard.demo.tour import run_demo

__all__ = ["run_demo"]
