"""Java and the Spark session."""
