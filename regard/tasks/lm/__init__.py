"""Language modelling: predict the next token, and generate text."""
