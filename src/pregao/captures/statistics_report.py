"""Statistics for people: a few small tables."""

from collections.abc import Iterable, Sequence
from typing import Any

from pregao.captures.formats.text import printable
from pregao.captures.formats.times import Clock

_Row = Sequence[Any]


def report(counts: dict[str, Any]) -> str:
    """What `Statistics.as_dict` gives, as text. Sections without content are left out."""
    sections = [
        _overview(counts),
        _table(
            "streams",
            ("channel", "stream", "feed", "packets", "messages", "heartbeats",
             "versions", "first", "last", "gaps", "missing", "repeated"),
            [_stream(stream) for stream in counts["streams"]],
        ),
        _table(
            "templates",
            ("id", "name", "messages"),
            [(t["template_id"], t["name"], t["messages"]) for t in counts["templates"]]
            + [(t["template_id"], "?unknown", t["messages"]) for t in counts["unknown_templates"]],
        ),
        _table(
            "wire versions",
            ("version", "messages", ""),
            [(v["version"], v["messages"], _how_read(v)) for v in counts["versions"]],
        ),
        _table(
            "values unknown to the schema",
            ("message", "field", "value or bit", "count"),
            [(u["name"], u["field"], u["value"], u["count"]) for u in counts["unknown_values"]],
        ),
        _table("faults", ("fault", "count"), list(counts["faults"].items())),
        _table(
            "bytes left at the end of files",
            ("file", "bytes"),
            [(printable(file), left) for file, left in counts["bytes_left_at_end"].items()],
        ),
    ]  # fmt: skip
    return "\n".join(section for section in sections if section)


def _how_read(version: dict[str, Any]) -> str:
    if version["known"]:
        return ""
    return "?older than all versions known" if version.get("older") else "?read by the nearest lower version"


def _overview(counts: dict[str, Any]) -> str:
    clock, rows = Clock(), []
    for name in ("files", "records", "udp_packets"):
        rows.append((name.replace("_", " "), counts[name]))
    rows += [(f"skipped, {reason}", n) for reason, n in counts["skipped"].items()]
    rows.append(("messages", counts["messages"]))
    for name in ("first", "last"):
        if counts[f"{name}_ts_ns"] is not None:
            rows.append((f"{name} packet", clock.both(counts[f"{name}_ts_ns"])))
    leftover = counts["leftover"]
    if leftover["messages"]:
        rows.append(("bytes left over", f"{leftover['bytes']} in {leftover['messages']} messages"))
    width = max(len(name) for name, _ in rows)
    return "".join(f"{name:<{width}}  {value}\n" for name, value in rows)


def _stream(stream: dict[str, Any]) -> _Row:
    names = ("first_seq_num", "last_seq_num", "gaps", "missing", "repeated")
    return (
        stream["channel"],
        stream["stream"] or "?",
        stream["feed"] or "?",
        stream["packets"],
        stream["messages"],
        stream["heartbeats"],
        _ranges(stream["sequence_versions"]),
        *("-" if stream[name] is None else stream[name] for name in names),
    )


def _ranges(versions: Iterable[int]) -> str:
    """`1-340,342`: a snapshot stream has a version a loop."""
    runs: list[list[int]] = []
    for version in sorted(versions):
        if runs and version == runs[-1][1] + 1:
            runs[-1][1] = version
        else:
            runs.append([version, version])
    shown = ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in runs)
    return shown or "-"


def _table(title: str, heads: Sequence[str], rows: Sequence[_Row]) -> str:
    """Numbers to the right, words to the left."""
    if not rows:
        return ""
    cells = [heads, *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    right = [all(isinstance(row[i], int) or row[i] == "-" for row in rows) for i in range(len(heads))]
    lines = []
    for row in cells:
        parts = (
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        )
        lines.append(f"  {'  '.join(parts)}".rstrip() + "\n")
    return f"{title}\n{''.join(lines)}"
