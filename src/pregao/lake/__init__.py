"""The lake: captures to tables on Spark, and what reads them. Only here is Spark imported."""
