"""An import rule for import-linter: a room is entered by its door.

A module imports from another room only through a package, ``from discreet.room import name`` or ``from
discreet.room.inner import name``, never from a file behind it. A file may be the name: ``from discreet.core import
checks``. Doors themselves keep the rule too; the linter does not see their names, because these are in stubs.
"""

import re
from pathlib import Path

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

_OFFER = re.compile(r"^from (\S+) import (\w+) as (\w+)$", re.MULTILINE)


def room(module: str) -> str:
    """Return the top room of a module; another package is one room."""
    parts = module.split(".")
    return parts[1] if parts[0] == "discreet" and len(parts) > 1 else parts[0]


class DoorContract(Contract):
    type_name = "doors"

    source = fields.StringField()

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        packages = {module for module in graph.modules if graph.find_children(module)}
        broken = []
        for importer in sorted(graph.modules):
            for imported in sorted(graph.find_modules_directly_imported_by(importer)):
                if room(importer) == room(imported) or imported in packages or imported.count(".") < 2:
                    continue
                if not imported.startswith("discreet."):
                    continue
                named = rf"from {re.escape(imported.rpartition('.')[0])} import\b"
                broken += [
                    f"{importer}:{found['line_number']}: {found['line_contents']}"
                    for found in graph.get_import_details(importer=importer, imported=imported)
                    if not re.match(named, found["line_contents"])
                ]
        for stub in sorted(Path(self.source).rglob("__init__.pyi")):
            inside = "discreet." + ".".join(stub.parent.relative_to(self.source).parts)
            for module, name, offered in _OFFER.findall(stub.read_text(encoding="utf-8")):
                if name != offered:
                    broken.append(f"{stub}: {name} is offered as {offered}")
                if not module.startswith(".") and (room(module) == room(inside) or module not in packages):
                    broken.append(f"{stub}: {module} is no door of another room")
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for line in check.metadata["broken"]:
            output.print_error(line)
