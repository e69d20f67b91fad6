"""A Spark driver that makes one release per line of JSON: ``spark_driver.py TABLE``."""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import discreet as dc
from discreet.engines.spark import session
from discreet.errors import DiscreetError
from spark_releases import JAVA, NUMBERS, anonymous

#: What is said when Java was killed.
GONE = r"Connection(Refused|Reset)Error|Py4JNetworkError|Spark session of this frame has ended"


def release(frame: Any, act: str, out: Path, account: str) -> None:
    """Make one release, charged to an account if it has a price."""
    if act == "anonymous":
        anonymous().fit(frame).transform_file(frame, out)
        return
    ledger = dc.Account(account)
    given: dict[str, Any] = {"epsilon": 0.5, "domain": NUMBERS, "n_rows": 2500, "ledger": ledger}
    made = dc.GridSynopsis(rule=8, **given) if act == "grid" else dc.TreeSynopsis(max_depth=3, **given)
    made.fit(frame).synopsis_.save(out)


def main() -> None:
    """Answer until the input ends."""
    warnings.simplefilter("ignore")
    quiet = {"spark__ui__showConsoleProgress": "false", "spark__sql__shuffle__partitions": "1"}
    small = {"spark__driver__memory": "512m", "spark__driver__extraJavaOptions": JAVA}
    spark = session("local[1]", **quiet, **small)
    spark.sparkContext.setLogLevel("OFF")
    frame = spark.read.parquet(sys.argv[1])
    for line in sys.stdin:
        asked = json.loads(line)
        told = {"ok": True, "error": ""}
        try:
            release(frame, asked["act"], Path(asked["out"]), asked["account"])
        except DiscreetError as error:
            told = {"ok": False, "error": f"{type(error).__name__}: {error}"}
        except Exception as error:
            told = {"ok": False, "error": f"unforeseen {type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
        if re.search(GONE, str(told["error"])):  # start anew, as a program does that a steward starts again
            os.execv(sys.executable, sys.orig_argv)


if __name__ == "__main__":
    main()
