"""Metrics in the text format of Prometheus (exposition format 0.0.4): families with a type and a help line,
samples with labels."""

from collections.abc import Iterator
from typing import Final

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


class Families:
    """Samples of one name stand together, in the order in which names came."""

    def __init__(self) -> None:
        self._families: dict[str, tuple[str, str, list[str]]] = {}

    def counter(self, name: str, help_text: str, value: int, **labels: object) -> None:
        """Only ever grows."""
        self._add(f"{name}_total", "counter", help_text, value, labels)

    def gauge(self, name: str, help_text: str, value: float, **labels: object) -> None:
        self._add(name, "gauge", help_text, value, labels)

    def _add(self, name: str, kind: str, help_text: str, value: float, labels: dict[str, object]) -> None:
        told = ",".join(f'{key}="{str(each).translate(_ESCAPES)}"' for key, each in labels.items())
        number = str(value) if isinstance(value, int) else repr(float(value))
        samples = self._families.setdefault(name, (kind, help_text, []))[2]
        samples.append(f"{name}{{{told}}} {number}" if told else f"{name} {number}")

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        for name, (kind, help_text, samples) in self._families.items():
            yield f"# HELP {name} {help_text}"
            yield f"# TYPE {name} {kind}"
            yield from samples
