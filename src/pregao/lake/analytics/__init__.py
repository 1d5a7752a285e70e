"""Tables computed from other tables: ordinary functions from DataFrames to DataFrames."""

from pregao.extras import name_missing_extra

with name_missing_extra():
    from pregao.lake.analytics.run import INPUTS, Tables, Unit, run
    from pregao.lake.analytics.trades_clean import late_units

__all__ = ["INPUTS", "Tables", "Unit", "late_units", "run"]
