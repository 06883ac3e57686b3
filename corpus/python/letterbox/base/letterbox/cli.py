"""`letterbox preview members.csv letter.txt`"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from .contacts import load_contacts
from .template import Template, TemplateError


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="letterbox")
    commands = parser.add_subparsers(dest="command", required=True)
    preview = commands.add_parser("preview", help="print the messages instead of sending them")
    preview.add_argument("contacts", type=Path)
    preview.add_argument("template", type=Path)
    args = parser.parse_args(argv)
    contacts = load_contacts(args.contacts)
    try:
        template = Template(args.template.read_text(encoding="utf-8"))
        for contact in contacts:
            print(f"To: {contact.address}")
            print()
            print(template.render(contact.values))
            print("---")
    except TemplateError as error:
        print(f"letterbox: {error}", file=sys.stderr)
        return 2
    for line, reason in contacts.rejected:
        print(f"line {line}: {reason}", file=sys.stderr)
    return 1 if contacts.rejected else 0
