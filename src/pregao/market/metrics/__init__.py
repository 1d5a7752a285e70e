"""Figures for Prometheus: the text they come as, and the server that gives it."""

from pregao.market.metrics.exposition import exposition
from pregao.market.metrics.server import MetricsServer, parse_address

__all__ = ["MetricsServer", "exposition", "parse_address"]
