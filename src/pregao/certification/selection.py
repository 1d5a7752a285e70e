"""Which steps of the script are judged: `B1,B2.4-B2.9`, or from one on."""

from collections.abc import Iterable, Sequence

from pregao.certification.scenario import Section
from pregao.model.errors import ConfigurationError


def chosen_steps(sections: Sequence[Section], steps: str | None, first: str | None) -> frozenset[str]:
    """Ids of the steps to judge, of sections that are played. ConfigurationError where one is not there."""
    played = [step.id for section in sections for step in section.steps]
    found = set(_listed(sections, played, steps)) if steps else set(played)
    if first is not None:
        found &= set(played[_place(played, first, "from") :])
    return frozenset(found)


def _listed(sections: Sequence[Section], played: Sequence[str], text: str) -> Iterable[str]:
    ids = {section.id: [step.id for step in section.steps] for section in sections}
    for part in text.split(","):
        name = part.strip()
        begin, dash, end = name.partition("-")
        if name in ids:
            yield from ids[name]
        elif dash:
            yield from played[_place(played, begin, "steps") : _place(played, end, "steps") + 1]
        else:
            yield played[_place(played, name, "steps")]


def _place(played: Sequence[str], step: str, key: str) -> int:
    if step not in played:
        raise ConfigurationError(f"there is no step {step!r} in this segment", key=key)
    return played.index(step)


def unjudged(section: Section, chosen: frozenset[str]) -> frozenset[str]:
    return frozenset(step.id for step in section.steps if step.id not in chosen)
