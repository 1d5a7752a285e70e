"""A trading day of a lake as one page that needs nothing else, and as a few lines for the terminal.

report = make_report("lake")
report.html, report.summary
"""

from pregao.report.page import ReportPage, make_report
from pregao.report.week import make_span_report

__all__ = ["ReportPage", "make_report", "make_span_report"]
