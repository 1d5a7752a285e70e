"""`pregao password`: who may log on to the exchange's FIX services."""

import argparse
import secrets
from pathlib import Path
from typing import Any, Final

from pregao.cli.lake_arguments import OK, add_parser

_DESCRIPTION: Final = """\
Sets the password of a user of the exchange's FIX services, asked for twice and
never shown. The file keeps salted scrypt hashes, readable by its owner only.
"""
DEFAULT_FILE: Final = "passwords"
REFUSED: Final = 2


def add_command(commands: Any) -> None:
    parser = add_parser(commands, "password", "set a password of the exchange's users", _DESCRIPTION)
    parser.add_argument("user", metavar="USER")
    parser.add_argument("--file", default=DEFAULT_FILE, metavar="FILE", help=f"default: {DEFAULT_FILE}")
    parser.add_argument("--remove", action="store_true", help="this user may no longer log on")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from getpass import getpass

    from pregao.cli.progress import Output
    from pregao.io.files import read_private, write_private
    from pregao.sessions.fix.passwords import SALT_BYTES, PasswordBook, check_password, hash_password

    output, path = Output(), Path(args.file)
    book = PasswordBook.parse(read_private(path), str(path)) if path.exists() else PasswordBook()
    if args.remove:
        if not book.remove(args.user):
            output.talk(f"{path}: no user {args.user}")
            return REFUSED
    else:
        password = check_password(getpass(f"password of {args.user}: "))
        if getpass("again: ").encode("utf-8", "replace") != password:
            output.talk("the two are not the same; nothing was changed")
            return REFUSED
        book.put(args.user, hash_password(password, secrets.token_bytes(SALT_BYTES)))
    write_private(path, book.text())
    output.talk(f"{path}: {args.user} {'may no longer log on' if args.remove else 'has a new password'}")
    return OK
