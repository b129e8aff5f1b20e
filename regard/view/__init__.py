"""Look inside: record what a model attends to, and show it on a page or in a file.

record.py    a run and an input -> Recording: tokens, patterns, answer
pictures/    a recording -> one picture as plain data
server.py    routes, which ask the two above
export.py    the page with its data as one file
plot.py      which picture is wanted for a paper
figures.py   the same pictures for papers, by matplotlib
page/        what a browser reads
"""
