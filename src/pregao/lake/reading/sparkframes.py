"""Files of a lake version as Spark DataFrames: a list of Parquet files with a schema, no Delta jar."""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import and_
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows it by
from pyspark.sql.types import StructType

from pregao.lake.reading.arrow import read
from pregao.lake.reading.conditions import Condition
from pregao.lake.store.livefile import LiveFile
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import find_table
from pregao.lake.tables.table import Table

# Spark's own name of the option. Without it braces and stars in the name of a folder are patterns, and a
# colon is an error.
_PATTERNS: Final = "__globPaths__"


def spark_schema(table: Table) -> StructType:
    schema = StructType.fromDDL(table.spark_ddl)
    assert isinstance(schema, StructType)
    return schema


def frame(
    spark: SparkSession,
    location: Location,
    table: Table,
    files: Sequence[LiveFile],
    conditions: Iterable[Condition] = (),
    columns: Sequence[str] | None = None,
) -> DataFrame:
    wanted = list(conditions)
    if not files:
        found = spark.createDataFrame([], spark_schema(table))
    elif location.is_local or spark_knows(spark, location.uri):
        found = _parquet(spark, location, table, files)
    else:
        found = _through_arrow(spark, location, table, files, wanted)
    if wanted:
        found = found.filter(reduce(and_, (_column(condition) for condition in wanted)))
    return found if columns is None else found.select(*columns)


def _parquet(spark: SparkSession, location: Location, table: Table, files: Sequence[LiveFile]) -> DataFrame:
    paths = [location.full(table.name, file.path) for file in files]
    reader = spark.read.schema(spark_schema(table)).option("basePath", location.full(table.name))
    reader = reader.option(_PATTERNS, "false")
    # The files are partitioned by folders, whose columns Spark puts last: back to our order.
    return reader.parquet(*paths).select(*table.schema.names)


def spark_knows(spark: SparkSession, uri: str) -> bool:
    """Whether this Spark has the connector for a kind of store (s3a, gs, …): pyspark alone brings none."""
    jvm: Any = spark._jvm
    configuration = spark._jsc.hadoopConfiguration()
    try:
        jvm.org.apache.hadoop.fs.Path(uri).getFileSystem(configuration)
    except Exception:  # py4j's error around whatever Hadoop throws
        return False
    return True


def _through_arrow(
    spark: SparkSession,
    location: Location,
    table: Table,
    files: Sequence[LiveFile],
    conditions: list[Condition],
) -> DataFrame:
    """Our own file systems read the files inside the tasks: a task a file."""
    name = table.name
    paths = spark.createDataFrame([(index,) for index in range(len(files))], "file int")

    def rows(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                found = read(location, find_table(name), [files[index]], conditions)
                yield from found.to_batches()

    return paths.repartition(len(files)).mapInArrow(rows, spark_schema(table))


def _column(condition: Condition) -> Any:
    column = F.col(condition.column)
    if condition.operator == "is null":
        return column.isNull()
    if condition.operator == "is not null":
        return column.isNotNull()
    if condition.operator == "in":
        return column.isin(*condition.value)
    comparisons = {
        "=": column.__eq__, "!=": column.__ne__, "<": column.__lt__, "<=": column.__le__,
        ">": column.__gt__, ">=": column.__ge__,
    }  # fmt: skip
    return comparisons[condition.operator](F.lit(condition.value))
