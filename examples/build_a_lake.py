"""Build a lake from captures on Spark, and query its tables with SQL in DuckDB, without Spark.

`pregao build build/sample --lake build/example-lake` does the same. A second build of the same captures does
nothing; `on_progress` is told each step.
"""

from pregao import Lake, local_session
from pregao.jobs.build import BuildRequest, build_lake

LAKE = "build/example-lake"


def on_progress(step: str, done: int, total: int) -> None:
    if done == total:
        steps.append(step)


steps: list[str] = []
build_lake(BuildRequest(["build/sample"], LAKE), on_progress, spark=local_session())
print("steps:", *dict.fromkeys(steps))

database = Lake(LAKE).to_duckdb()  # every table is a view
for table in ("orders", "trades", "quotes", "bars", "quality"):
    ((count,),) = database.sql(f"select count(*) from {table}").fetchall()
    print(f"{count:>7,} {table}")
rows = database.sql("""
    select symbol, trades, volume, vwap, agrees from daily where trades > 0
    order by trades desc, symbol limit 3
""").fetchall()
print("the most traded, and whether our figures agree with those that the exchange sent:")
for row in rows:
    print(" ", *row)
