"""Write down what the available copies of public tables hold: columns, rows, SHA-256 of the values.

    python docs/scripts/data_record.py       # writes src/discreet/datasets/record.json

Needs the data folder with every file of `discreet.datasets.origins`. A download is compared with this record.
"""

from __future__ import annotations

import json
from pathlib import Path

from discreet.datasets import fetching
from discreet.datasets.origins import ORIGINS


def main() -> None:
    """Read every file and write the record."""
    found = {file: fetching.described(fetching.place(file, file)) for file in sorted(ORIGINS)}
    target = Path(fetching.__file__).with_name("record.json")
    target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"{target}: {len(found)} files")


if __name__ == "__main__":
    main()
