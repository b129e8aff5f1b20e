"""The viewer: record the attention of a model, and show it in a browser or in a file.

record.py    run + input -> Recording: tokens, attention weights, answer
pictures/    recording -> data of one picture
session.py   the open runs and every answer of the API
routes.py    HTTP routes; server.py serves them
export.py    the page with its data as one HTML file
plot.py      the picture that `regard plot` was asked for; figures.py draws it with matplotlib
page/        HTML, CSS and JavaScript of the page
"""
