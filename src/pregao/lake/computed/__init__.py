"""Tables that are computed from others, unit by unit, in tasks like those that build slices.

Each is defined here and nowhere else, in SQL that DuckDB runs inside the task, from the lake's files to its
files. A unit's tables are small beside its messages, and what Spark needs to plan and compile seven queries
is many times what they take. `tests/twins/analytics` says the same as functions of Spark DataFrames, without
any of this code, and tests hold both equal.
"""
