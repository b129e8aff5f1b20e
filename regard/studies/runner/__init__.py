"""The runner: the study folder, the pool of processes, timing, learning-rate search, reports and plots."""
