"""`python -m tools.figures` prints the figures that may only fall; `--places` says where they are counted."""

from __future__ import annotations

import argparse

from tools.figures import ENGINES, KINDS, figure, places


def main() -> None:
    """Print the table, or every place that it counts."""
    parser = argparse.ArgumentParser(prog="python -m tools.figures", description=__doc__)
    parser.add_argument("--places", action="store_true", help="print each place that is counted, too")
    arguments = parser.parse_args()
    width = max(map(len, KINDS))
    print(f"{'':{width}}", *(f"{engine:>10}" for engine in ENGINES), f"{'all':>7}")
    for kind in KINDS:
        row = [figure(kind, engine) for engine in ENGINES]
        print(f"{kind:{width}}", *(f"{number:>10}" for number in row), f"{sum(row):>7}")
    if arguments.places:
        for kind in KINDS:
            print(f"\n{kind}")
            for engine in ENGINES:
                for place in places(kind, engine):
                    print(f"  {place.where} {place.what}")


if __name__ == "__main__":
    main()
