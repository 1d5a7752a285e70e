"""The tables of `lake.computed` as functions from Spark DataFrames to DataFrames, another engine's way to say
the same. Nothing of `pregao` is used but the columns of the tables (`lake.tables.catalogue`): orders, masks,
rules and percentiles are written out again, from the specification."""
