"""Networks of tables: the pre-trained in-context model and the NPT trained from scratch, as predictors of one table."""
