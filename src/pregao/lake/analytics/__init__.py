"""Tables computed from other tables: ordinary functions from DataFrames to DataFrames."""

from pregao.lake.analytics.run import INPUTS, Tables, Unit, run
from pregao.lake.analytics.trades_clean import late_units

__all__ = ["INPUTS", "Tables", "Unit", "late_units", "run"]
