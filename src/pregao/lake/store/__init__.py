"""Files, Delta logs, and the commit over all tables."""
