"""Captures as a data source of Spark, for a look into files without a lake.

    register(spark)                                       # our own sessions have it already
    spark.read.format("umdf").load("084_Incremental_FeedA.pcap")
    spark.read.format("umdf").option("message", "Trade_53").load("captures")

    options    what was asked for
    messages   every message as a row, its fields as JSON
    tables     one message's own columns, by kernel, as Spark can hold them
    reader     the face to Spark

There is no `pushFilters`: Spark 4.2 and 4.3 leak a filter into other scans of the same source. Nor does
Spark tell a Python source which columns it needs. So what is to be read is said by options.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMAT = "umdf"


def register(spark: "SparkSession") -> None:
    """From now on `spark.read.format("umdf")` reads captures. May be called again."""
    from pregao.lake.source.reader import UmdfDataSource

    spark.dataSource.register(UmdfDataSource)
