"""Files of Stata, SPSS and SAS, read by pyreadstat in batches.

Types, value labels, missing codes and date formats are in the file's header. Rows decide nothing: texts are decoded
value by value, and dates are computed here, because a library gives up the whole file at a year beyond its calendar or
a byte beyond its encoding.
"""

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.engines.tables.encode import Encoder, column_kind
from discreet.engines.tables.formats.cells import Labelled
from discreet.engines.tables.part import Batch, Part
from discreet.errors import DataSourceError, MissingExtra

_PROGRAMS = {".dta": "Stata", ".sav": "SPSS", ".zsav": "SPSS", ".por": "SPSS", ".sas7bdat": "SAS", ".xpt": "SAS"}
_READERS = {".dta": "read_dta", ".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por", ".xpt": "read_xport"}
#: Days from the first day of a program's calendar to 1970-01-01.
_EPOCHS = {"Stata": 3653, "SAS": 3653, "SPSS": 141428}
#: Formats of days and of moments. SPSS counts both in seconds.
_DAYS = {
    "Stata": r"%-?(td|d).*",
    "SPSS": r"(DATE|ADATE|EDATE|JDATE|SDATE)\d*",
    "SAS": r"(DATE|DAY|DDMMYY[BCDNPS]?|MMDDYY[BCDNPS]?|YYMMDD[BCDNPS]?|E8601DA|B8601DA|IS8601DA|JULIAN|WEEKDATE|"
    r"WEEKDATX|WORDDATE|WORDDATX|YYMON|MONYY|MMYY[CDNPS]?|YYMM[CDNPS]?|NLDATE)\d*(\.\d*)?",
}
_MOMENTS = {
    "Stata": r"%-?t[cC].*",
    "SPSS": r"(DATETIME|YMDHMS)\d*(\.\d+)?",
    "SAS": r"(DATETIME|DATEAMPM|E8601DT|B8601DT|IS8601DT|MDYAMPM|NLDATM)\d*(\.\d*)?",
}
_PER_SECOND = {"Stata": 1000.0, "SPSS": 1.0, "SAS": 1.0}
#: The years 1 to 9999, in days since 1970: what text and all engines can write.
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
#: What the reader raises on damaged files, besides its own errors.
_DAMAGED = (OSError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, MemoryError)


class StatisticsTable(Part):
    """One file of Stata (``.dta``), SPSS (``.sav``, ``.zsav``, ``.por``) or SAS (``.sas7bdat``, ``.xpt``)."""

    slow = True

    def __init__(self, path: Path, suffix: str) -> None:
        self.label = f"file {str(path)!r}"
        self.path, self._suffix, self._program = path, suffix, _PROGRAMS[suffix]
        facts = self._asked(metadataonly=True)[1]
        self._encoding = _encoding(path, suffix, facts.file_encoding)
        self.names = tuple(map(str, facts.column_names))
        stored, written = facts.readstat_variable_types, facts.original_variable_types
        self._kinds = [self._kind(stored[name], written[name]) for name in self.names]
        missing = self._asked(metadataonly=True, user_missing=True)[1].missing_ranges
        #: Rows are read byte by byte, and the reader then knows columns by the bytes of their names too.
        self._bytewise = {"encoding": "LATIN1"} if suffix != ".por" else {}
        self._keys = self._asked(metadataonly=True, **self._bytewise)[1].column_names
        if len(self._keys) != len(self.names):
            raise self._unreadable()
        #: What the file says its codes stand for, by column: declarations, not rows.
        self.labels: dict[str, dict[Any, str]] = {
            name: kept
            for name, kind in zip(self.names, self._kinds, strict=True)
            if (kept := _kept(facts.variable_value_labels.get(name, {}), missing.get(name, ()), kind))
        }
        self._rows = facts.number_rows

    def size(self) -> int:
        return self._rows or self.path.stat().st_size

    def kind(self, position: int) -> pa.DataType:
        """Return the type of a column: text where its codes have labels."""
        return pa.large_string() if self.names[position] in self.labels else self._kinds[position]

    def code_kind(self, position: int) -> pa.DataType:
        """Return the type of the codes of a column, as a `Labelled` piece holds them."""
        kind = self._kinds[position]
        return pa.float64() if self.names[position] in self.labels and pa.types.is_integer(kind) else kind

    def check(self, position: int, encoder: Encoder) -> None:
        kind = self._kinds[position]
        encoder.check(column_kind(kind), kind, self.label)

    def read(self, positions: Sequence[int], batch_size: int) -> Iterator[Batch]:
        wanted = [self._keys[p] for p in positions] or self._keys[:1]
        done = 0
        while True:
            columns, _ = self._asked(usecols=wanted, row_offset=done, row_limit=batch_size, **self._bytewise)
            if not columns.keys() >= set(wanted):
                raise self._unreadable()
            n = len(columns[wanted[0]]) if wanted else 0
            if n:
                yield [self._piece(p, columns[self._keys[p]]) for p in positions], n
            done += n
            if n < batch_size or done == self._rows:
                return

    def _kind(self, stored: str, written: str | None) -> pa.DataType:
        """Return the type of a column, by what the file says of it."""
        if stored == "string":
            return pa.large_string()
        if written and re.fullmatch(_DAYS[self._program], written, re.IGNORECASE):
            return pa.date32()
        if written and re.fullmatch(_MOMENTS[self._program], written, re.IGNORECASE):
            return pa.timestamp("ms")
        return pa.int64() if stored.startswith("int") else pa.float64()

    def _piece(self, position: int, values: Sequence[Any]) -> pa.Array | Labelled:
        kind = self._kinds[position]
        if pa.types.is_large_string(kind):
            found = self._texts(pa.array(values, pa.large_string()))
        else:
            numbers = pa.array(values, pa.float64())
            found = numbers if pa.types.is_floating(kind) else self._typed(numbers, kind)
        labels = self.labels.get(self.names[position])
        if not labels:
            return found
        return Labelled(found.cast(pa.float64()) if pa.types.is_integer(kind) else found, labels)

    def _typed(self, numbers: pa.Array, kind: pa.DataType) -> pa.Array:
        values = numbers.fill_null(np.nan).to_numpy(zero_copy_only=False)
        if pa.types.is_integer(kind):
            return pa.array(np.nan_to_num(values).astype(np.int64), mask=np.isnan(values))
        with np.errstate(all="ignore"):
            days = values
            if self._program == "SPSS" or pa.types.is_timestamp(kind):
                days = values / (86400 * _PER_SECOND[self._program])
            days = days - _EPOCHS[self._program]
            odd = ~((days >= _FIRST_DAY) & (days < _LAST_DAY + 1))
            days[odd] = 0
        if pa.types.is_timestamp(kind):
            return pa.array(np.rint(days * 86_400_000).astype("datetime64[ms]"), kind, mask=odd)
        return pa.array(np.floor(days).astype("datetime64[D]"), kind, mask=odd)

    def _texts(self, raw: pa.Array) -> pa.Array:
        """Decode texts, whose letters stand for bytes as yet; what the encoding does not know becomes U+FFFD."""
        raw = pc.if_else(pc.equal(raw, ""), None, raw)
        plain = pc.string_is_ascii(raw).fill_null(True)
        if self._suffix == ".por" or pc.all(plain).as_py() is not False:
            return raw
        odd = pc.dictionary_encode(raw.filter(pc.invert(plain)))
        decoded = [t.encode("latin-1", "replace").decode(self._encoding, "replace") for t in odd.dictionary.to_pylist()]
        return pc.replace_with_mask(raw, pc.invert(plain), pa.array(decoded, pa.large_string()).take(odd.indices))

    def _asked(self, **given: Any) -> tuple[Mapping[str, Sequence[Any]], Any]:
        try:
            import pyreadstat
        except ImportError:
            raise MissingExtra(f"reading {self._suffix} files", "stats") from None
        reader = getattr(pyreadstat, _READERS.get(self._suffix, "read_sas7bdat"))
        if self._suffix in (".xpt", ".por"):
            given.pop("user_missing", None)
        try:
            found: tuple[Mapping[str, Sequence[Any]], Any] = reader(
                str(self.path), output_format="dict", disable_datetime_conversion=True, **given
            )
            known = found[1].readstat_variable_types.keys() & found[1].original_variable_types.keys()
            if not all(isinstance(name, str) and name in known for name in found[1].column_names):
                raise ValueError("a column without a name or a type")
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, *_DAMAGED):
            raise self._unreadable() from None
        return found

    def _unreadable(self) -> DataSourceError:
        return DataSourceError(
            f"data: {self.label} cannot be read as a file of {self._program}; check the file and its permissions"
        )


def _encoding(path: Path, suffix: str, stated: str | None) -> str:
    """Return what texts of the file are written in, as its head says."""
    if suffix == ".dta":
        with path.open("rb") as file:
            release = re.match(rb"<stata_dta><header><release>(\d+)", file.read(64))
        return "utf-8" if release and int(release[1]) >= 118 else "cp1252"
    try:
        return codecs.lookup(stated or "utf-8").name
    except LookupError:
        return "utf-8"


def _kept(labels: Mapping[Any, str], missing: Sequence[Any], kind: pa.DataType) -> dict[Any, str]:
    """Leave out labels of codes that stand for missing values, and of what is no code of such a column."""
    coded = str if pa.types.is_large_string(kind) else (int, float)
    if column_kind(kind) == "date":
        return {}
    odd = [r for r in missing if isinstance(r["lo"], coded) and isinstance(r["hi"], coded)]
    # Letters among numbers are marks of Stata and SAS for missing values.
    return {
        value: text
        for value, text in labels.items()
        if isinstance(value, coded) and not any(r["lo"] <= value <= r["hi"] for r in odd)
    }
