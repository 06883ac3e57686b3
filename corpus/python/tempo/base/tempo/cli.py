"""tempo parse | format | plan"""

import argparse
import sys
from datetime import date

from .duration import DurationError, format_duration, parse_duration
from .workdays import add_workdays, read_holidays


def build_parser():
    parser = argparse.ArgumentParser(prog="tempo")
    commands = parser.add_subparsers(dest="command", required=True)
    parse = commands.add_parser("parse")
    parse.add_argument("duration")
    fmt = commands.add_parser("format")
    fmt.add_argument("seconds", type=float)
    plan = commands.add_parser("plan")
    plan.add_argument("start", type=date.fromisoformat)
    plan.add_argument("steps", type=int)
    plan.add_argument("--holidays")
    return parser


def render_plan(start, steps, holidays):
    lines = ["step  date"]
    for number in range(1, steps + 1):
        lines.append(f"{number:>4}  {add_workdays(start, number, holidays).isoformat()}")
    return "\n".join(lines)


def main(argv=None, out=sys.stdout, err=sys.stderr):
    args = build_parser().parse_args(argv)
    try:
        if args.command == "parse":
            print(int(parse_duration(args.duration)), file=out)
        elif args.command == "format":
            print(format_duration(args.seconds), file=out)
        else:
            holidays = read_holidays(args.holidays) if args.holidays else frozenset()
            print(render_plan(args.start, args.steps, holidays), file=out)
    except DurationError as error:
        print(f"tempo: {error}", file=err)
        return 2
    return 0
