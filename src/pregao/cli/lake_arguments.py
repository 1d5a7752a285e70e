"""Arguments that all commands on a lake share."""

import argparse
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pregao.cli.progress import Output

OK = 0
DAMAGED = 1  # some of the input could not be read


def add_parser(commands: Any, name: str, about: str, description: str, epilog: str = "") -> Any:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=about, description=description, epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    return parser


def add_lake(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lake", required=True, metavar="DIR", help="a folder, or a URI as s3://bucket/lake")


def add_as_of(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--as-of", type=natural, metavar="N", help="an older lake version (default: newest)")


def add_system(parser: argparse.ArgumentParser, *, several: bool = True) -> None:
    more = "; all: every one. May be given again" if several else ""
    parser.add_argument(
        "--system", action="append" if several else "store", metavar="NAME",
        help=f"whose rows (default: the lake's only system, of several binary{more})",
    )  # fmt: skip


def add_spark(parser: argparse.ArgumentParser, about: str = "default: local[*,4]") -> None:
    """Whatever Spark is told in spark-defaults.conf or here wins over what we would set."""
    parser.add_argument("--master", metavar="URL", help=about)
    parser.add_argument("--archive", metavar="FILE", help="environment for a cluster, made by `pregao pack`")
    parser.add_argument("--conf", type=_setting, action="append", default=[], metavar="KEY=VALUE",
                        help="a setting of Spark, as spark.driver.memory=4g; may be repeated")  # fmt: skip


def _setting(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign or not key.startswith("spark."):
        raise argparse.ArgumentTypeError(f"{text!r} is not a setting as spark.driver.memory=4g")
    return key.strip(), value


def natural(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return value


def days_in_ns(text: str) -> int:
    try:
        days = float(text)
    except ValueError:
        days = -1.0
    if not 0 <= days < 100_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days")
    return int(days * 86_400_000_000_000)


class _NoPandas:
    """Finds that there is none."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name == "pandas":
            raise ModuleNotFoundError("not needed here", name=name)
        return None


def leave_out_pandas() -> None:
    """For the rest of this process, which is to answer at once: Arrow imports pandas to see whether a value
    is one of its own, which takes longer than a query. Only for commands that give nobody a frame."""
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _NoPandas())


def show(output: "Output", table: Any, chosen: str) -> None:
    """A result as text on stdout."""
    from pregao.lake.verbs import formats

    makers = {"table": formats.as_table, "csv": formats.as_csv, "json": formats.as_json}
    for text in makers[chosen](table):
        output.data(text)


def write_bytes(path: str, data: bytes) -> None:
    from pregao.io.files import write_whole

    write_whole(Path(path), data)
