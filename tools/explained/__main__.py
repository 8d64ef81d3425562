"""`python -m tools.explained` prints how many attributes of each room are explained; `--places` lists the others."""

from __future__ import annotations

import argparse

from tools.explained import ROOMS, attributes


def main() -> None:
    """Print the table, or each attribute without a word."""
    parser = argparse.ArgumentParser(prog="python -m tools.explained", description=__doc__)
    parser.add_argument("--places", metavar="ROOM", choices=ROOMS, help="print each attribute there that has no word")
    arguments = parser.parse_args()
    if arguments.places is not None:
        for each in attributes(arguments.places):
            if not each.explained:
                print(f"{each.file}:{each.line} {each.owner}.{each.name}{f': {each.said}' if each.said else ''}")
        return
    every = explained = 0
    for room in ROOMS:
        found = attributes(room)
        count = sum(each.explained for each in found)
        every += len(found)
        explained += count
        print(f"{room:14}{count:6} of {len(found):5}{100 * count // max(len(found), 1):5} %")
    print(f"{'all':14}{explained:6} of {every:5}{100 * explained // max(every, 1):5} %")


if __name__ == "__main__":
    main()
