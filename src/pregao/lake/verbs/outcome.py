"""What a build did, as names and values that a terminal may show as it likes."""

from pregao.lake.build import BuildReport

# What one of a build's steps is to people.
_STEPS = {
    "plan": "plan", "tasks": "slices", "plan tables": "plan's tables", "analytics": "analytics",
    "commit": "commit",
}  # fmt: skip


def outcome(report: BuildReport) -> list[tuple[str, str]]:
    """Nothing of what was left alone but how much it is."""
    lines = []
    if report.units:
        messages, trades = (report.counts.get(name, 0) for name in ("messages", "trades"))
        size = f"{report.bytes / 1e6:,.1f} MB, {report.bytes / max(messages, 1):,.0f} bytes a message"
        lines += [
            ("units (channel and date), slices", f"{len(report.units):,}, {report.slices:,}"),
            ("messages, trades in them", f"{messages:,}, {trades:,}"),
            ("written to the lake", size),
            ("messages a second", rates(report)),
        ]
    if report.unchanged:
        lines.append(("units left alone, unchanged", f"{len(report.unchanged):,}"))
    return lines


def rates(report: BuildReport) -> str:
    """Of slices, where messages are; and of all the build, which a small day spends on Spark's own."""
    messages, tasks = report.counts.get("messages", 0), report.seconds.get("tasks", 0.0)
    whole = sum(report.seconds.values())
    return f"{messages / max(tasks, 1e-9):,.0f} in slices, {messages / max(whole, 1e-9):,.0f} in all"


def times(seconds: dict[str, float]) -> str:
    """Where the time went."""
    told = ", ".join(f"{_STEPS.get(step, step)} {each:.1f}" for step, each in seconds.items())
    return f"{sum(seconds.values()):.1f} s ({told})"
