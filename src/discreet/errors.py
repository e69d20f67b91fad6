"""All exceptions of this package.

A message names the argument, the value and the fix. It quotes *arguments and schemas only*, never a row. In a
differentially private release no row causes an error: neighbouring tables must not differ in whether a call fails.
"""

from reprlib import Repr

_short = Repr()
_short.maxstring = _short.maxother = 80
_short.maxlist = _short.maxtuple = _short.maxdict = 4


def _is_data(value: object) -> bool:
    """Return whether a value is an array, a column or a table; a scalar of NumPy is not."""
    return bool(getattr(value, "shape", ())) or hasattr(value, "__arrow_c_stream__")


class DiscreetError(Exception):
    """Base class of all exceptions of this package.

    Examples
    --------
    >>> import discreet as dc
    >>> try:
    ...     dc.Ledger(epsilon=-1)
    ... except dc.errors.DiscreetError as error:
    ...     print(type(error).__name__)
    InvalidArgument
    """


class InvalidArgument(DiscreetError, ValueError):
    """An argument has a value that cannot be used.

    Parameters
    ----------
    name : str
        The argument, as the caller wrote it.
    value : object
        The value given. Quoted in short form; never pass rows of data here.
    expected : str
        The rest of the sentence "<name> must be ...". For two arguments: "used with ...", or "left out: ...".
    fix : str, optional
        An argument that works.

    Examples
    --------
    >>> print(InvalidArgument("epsilon", -1, "a positive finite number", "epsilon=1.0"))
    epsilon must be a positive finite number, got -1; try epsilon=1.0
    >>> print(InvalidArgument("rule", 8, "used with method='grid'", "method='grid'"))
    rule can only be used with method='grid'; try method='grid'
    """

    def __init__(self, name: str, value: object, expected: str, fix: str = "") -> None:
        # Arrays and tables may be rows that were given in the place of an option: only their type is named.
        value = type(value).__name__ if _is_data(value) else value
        self.name, self.value, self.expected, self.fix = name, value, expected, fix
        hint = f"; try {fix}" if fix else ""
        # The value itself is right if the argument conflicts with another one, so it is not quoted.
        if expected.startswith("used with"):
            super().__init__(f"{name} can only be {expected}{hint}")
        elif expected.startswith("left out") or (value is None and expected.startswith("given")):
            super().__init__(f"{name} must be {expected}{hint}")
        else:
            super().__init__(f"{name} must be {expected}, got {_short.repr(value)}{hint}")

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        # Parallel runs pickle exceptions; the default would rebuild them from the message.
        return type(self), (self.name, self.value, self.expected, self.fix)


class InvalidType(InvalidArgument, TypeError):
    """An argument has a type that cannot be used.

    Examples
    --------
    >>> print(InvalidType("size", "ten", "a whole number", "size=10"))
    size must be a whole number, got 'ten'; try size=10
    """


class ReleaseConflict(InvalidArgument):
    """A release, together with earlier ones about the same people, would identify someone.

    Examples
    --------
    >>> print(ReleaseConflict("1 removed record could be identified by comparing this release with the last one."))
    1 removed record could be identified by comparing this release with the last one.
    """

    def __init__(self, text: str, **advice: object) -> None:
        super().__init__("history", None, text)
        # As in `SchemaError`: a job spells the options that may help.
        self.text, self.advice = text, advice
        self.args = (text + ("; try " + ", ".join(f"{n}={v!r}" for n, v in advice.items()) if advice else ""),)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), self.args


class DiscreetWarning(UserWarning):
    """An argument is valid but probably not what was meant; the text says how to confirm it.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("ignore", DiscreetWarning)  # hide them
    """


class SchemaError(DiscreetError, ValueError):
    """The declared columns do not match the columns of the data or of a schema file.

    Examples
    --------
    >>> import discreet as dc
    >>> dc.Domain({"age": (0, 120)}).column("income")
    Traceback (most recent call last):
    ...
    discreet.errors.SchemaError: column 'income' is not declared in the domain; declared: 'age'
    """

    def __init__(self, text: str, **fix: object) -> None:
        # The fix is kept separately, so that a job can spell it as options of the command line.
        self.text, self.fix = text, fix
        super().__init__(text + (" " + ", ".join(f"{n}={v!r}" for n, v in fix.items()) if fix else ""))


class DataSourceError(DiscreetError, OSError):
    """A file or object cannot be opened as a table.

    Examples
    --------
    >>> import discreet as dc
    >>> dc.engines.open("no-such-file.csv")
    Traceback (most recent call last):
    ...
    discreet.errors.DataSourceError: data: no file matches 'no-such-file.csv'; check the path
    """


class BudgetExceeded(DiscreetError, ValueError):
    """A step would spend more than the ledger holds. It is raised before any data are read.

    Examples
    --------
    >>> import discreet as dc
    >>> dc.Ledger(epsilon=1).spend("count", 2)
    Traceback (most recent call last):
    ...
    discreet.errors.BudgetExceeded: 'count' needs epsilon 2 but only 1 of 1 is left; spend less or open a larger ledger
    """


class FormatError(DiscreetError, ValueError):
    """A saved artifact is damaged, was changed after it was written, or was not written by this package.

    Examples
    --------
    >>> import discreet as dc
    >>> dc.Guarantee.from_json("{}")
    Traceback (most recent call last):
    ...
    discreet.errors.FormatError: not a Discreet guarantee: the field 'format' is missing
    """

    def __init__(self, text: str, *, reason: str = "") -> None:
        super().__init__(text)
        #: The fault in one word, for statistics.
        self.reason = reason


class StoreUnavailable(DiscreetError, OSError):
    """The store of a collector takes no reports at the moment. Nothing was acknowledged.

    Examples
    --------
    >>> print(StoreUnavailable("database or disk is full"))
    the store takes no reports at the moment: database or disk is full; send the same reports again later
    """

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"the store takes no reports at the moment: {why}; send the same reports again later")


class TooFewReports(DiscreetError, ValueError):
    """A task has fewer reports than its minimum, below which no estimate is shown.

    Examples
    --------
    >>> print(TooFewReports(12, 1000))
    12 reports have come, but this task needs at least 1,000; wait for more
    """

    def __init__(self, reports: int, minimum: int, lost: int = 0, then: str = "wait for more") -> None:
        self.reports, self.minimum, self.lost = reports, minimum, lost
        others = f" (the shuffler deleted {lost:,} others)" if lost else ""
        super().__init__(f"{reports:,} reports have come{others}, but this task needs at least {minimum:,}; {then}")


class MissingExtra(DiscreetError, ImportError):
    """A job needs an optional extra of this package.

    Examples
    --------
    >>> print(MissingExtra("drawing a synopsis", "plot"))
    drawing a synopsis needs the extra 'plot'; run pip install 'discreet[plot]', or in a clone pip install '.[plot]'
    """

    def __init__(self, job: str, extra: str) -> None:
        self.job, self.extra = job, extra
        line = f"run pip install 'discreet[{extra}]', or in a clone pip install '.[{extra}]'"
        super().__init__(f"{job} needs the extra {extra!r}; {line}")

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.job, self.extra)


class MissingStudies(DiscreetError, ImportError):
    """The package with the published experiments is not installed.

    Examples
    --------
    >>> print(MissingStudies())
    the studies are a separate package, which is not installed; in a clone, run pip install ./studies
    """

    def __init__(self) -> None:
        super().__init__(
            "the studies are a separate package, which is not installed; in a clone, run pip install ./studies"
        )
