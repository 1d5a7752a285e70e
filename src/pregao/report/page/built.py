"""What was built, and from what."""

from pregao.report.gathering.built import Built
from pregao.report.markup import Markup, table, tag
from pregao.report.numbers import NOTHING, count, of, size
from pregao.report.page.parts import nothing, section

_INPUTS_LISTED = 200
_INPUTS_OPEN = 8  # more fold away


def built_section(built: Built) -> Markup:
    inputs = [(unit, each) for unit in built.units for each in unit.inputs]
    octets = sum(each.size or 0 for _, each in inputs)
    note = (
        f"Lake version {built.version} ({built.operation or 'no operation'}), committed"
        f" {built.committed:%Y-%m-%d %H:%M:%S} UTC by build {built.build_id or NOTHING}."
        f" {of(len(inputs), 'capture')} of {size(octets)} in {of(len(built.units), 'channel')} for this date;"
        f" the lake holds {of(len(built.dates), 'trade date')}."
    )
    return section("built", "What was built, and from what", note, _inputs(built), _tables(built))


def _inputs(built: Built) -> Markup:
    rows = [
        (str(unit.channel), each.path, NOTHING if each.size is None else size(each.size))
        for unit in built.units
        for each in unit.inputs
    ]
    if not rows:
        return nothing("The lake does not say from which captures this date was built.")
    caption = f"Captures of {built.trade_date}"
    if len(rows) > _INPUTS_LISTED:
        caption += f": first {_INPUTS_LISTED} of {len(rows):,}"
    made = table(("channel", "capture", "size"), rows[:_INPUTS_LISTED], caption=caption, numbers="llr")
    return made if len(rows) <= _INPUTS_OPEN else tag("details", tag("summary", caption), made)


def _tables(built: Built) -> Markup:
    rows = [
        (each.name, count(each.rows), count(each.files), size(each.bytes), each.about)
        for each in sorted(built.tables, key=lambda each: -each.rows)
    ]
    head = ("table", "rows", "files", "size", "one row is")
    return table(head, rows, caption="Tables of this lake version, all dates", numbers="lrrrl")
