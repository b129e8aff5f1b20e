"""Which regard this is, as run folders note it."""

VERSION = "0.1.0"
