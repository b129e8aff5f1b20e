"""Studies: questions to one's own data that take many runs, answered with their uncertainty."""
