"""Tables that are computed from others, unit by unit, in tasks like those that build slices.

`lake.analytics` says what these tables are, as functions of Spark DataFrames for whoever has any; here the
same is done in SQL by DuckDB inside each task, from the lake's files to its files. A unit's tables are small
beside its messages, and what Spark needs to plan and compile seven queries is many times what they take. A
test holds both equal.
"""
