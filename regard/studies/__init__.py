"""Studies: questions that take many runs, answered with their uncertainty."""
