"""Figures for Prometheus: the text they come as, and the server that gives it."""

from pregao.services.metrics.exposition import exposition
from pregao.services.metrics.server import MetricsServer, parse_address

__all__ = ["MetricsServer", "exposition", "parse_address"]
