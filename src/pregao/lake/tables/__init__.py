"""Every table, declared once: Arrow, Spark and Parquet follow from it."""
