"""What the page tells, read from one version of a lake: plain values, no Spark."""
