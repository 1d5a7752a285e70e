"""`pregao doctor`: what this machine has and lacks."""

import argparse
import json
from dataclasses import asdict
from typing import Any, Final

from pregao.cli.lake_arguments import OK, add_parser

_DESCRIPTION: Final = "What this machine has and lacks for each thing pregao can do."
_SIGNS: Final = {"ok": "✓", "note": "·", "lacks": "✗"}


def add_command(commands: Any) -> None:
    parser = add_parser(commands, "doctor", "what this machine has and lacks", _DESCRIPTION)
    parser.add_argument(
        "--compile", action="store_true", help="compile all kernels now, where that is not done yet"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from pregao.cli.progress import Output
    from pregao.jobs.doctor import examine

    output = Output()
    if args.compile:
        _compile()
    checks = examine()
    if args.format == "json":
        output.data("".join(json.dumps(asdict(check), ensure_ascii=False) + "\n" for check in checks))
        return OK
    width = max(len(check.what) for check in checks)
    for check in checks:
        output.data(f"{_SIGNS[check.state]} {check.what.ljust(width)}  {check.found}\n")
        if check.advice:
            output.data(f"  {' ' * width}  {check.advice}\n")
    lacking = sum(check.state == "lacks" for check in checks)
    output.talk("all that is needed is here" if not lacking else f"{lacking} things are lacking")
    return OK


def _compile() -> None:
    """What is compiled says so itself."""
    from pregao.jobs.compiled import compile_all, is_compiled

    if not is_compiled():
        compile_all()
