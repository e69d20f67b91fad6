"""Every exception a user of Discreet can see.

Two rules hold for all of them. A message names the argument, the value and the fix. And it speaks of
*arguments and schemas only*: a row of the data never causes an error and is never quoted in one, because two
neighbouring tables must not differ in whether a call fails (design rule 3).
"""

from reprlib import Repr

_short = Repr()
_short.maxstring = _short.maxother = 80
_short.maxlist = _short.maxtuple = _short.maxdict = 4


class DiscreetError(Exception):
    """Base of all exceptions raised on purpose by this package.

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
        What was given. Quoted in short form; never pass rows of data here.
    expected : str
        What would be right, continuing "<name> must be ...". About two arguments: "used with ...", or "left out: ...".
    fix : str, optional
        What to write instead.

    Examples
    --------
    >>> print(InvalidArgument("epsilon", -1, "a positive finite number", "epsilon=1.0"))
    epsilon must be a positive finite number, got -1; try epsilon=1.0
    >>> print(InvalidArgument("rule", 8, "used with method='grid'", "method='grid'"))
    rule can only be used with method='grid'; try method='grid'
    """

    def __init__(self, name: str, value: object, expected: str, fix: str = "") -> None:
        self.name, self.value, self.expected, self.fix = name, value, expected, fix
        hint = f"; try {fix}" if fix else ""
        # Nothing is wrong with the value of an argument that does not go with another.
        if expected.startswith("used with"):
            super().__init__(f"{name} can only be {expected}{hint}")
        elif expected.startswith("left out"):
            super().__init__(f"{name} must be {expected}{hint}")
        else:
            super().__init__(f"{name} must be {expected}, got {_short.repr(value)}{hint}")

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        # Exceptions cross process borders in parallel runs; the default rebuilds from args, which is the message.
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

    def __init__(self, text: str) -> None:
        super().__init__("history", None, text)
        self.args = (text,)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), self.args


class DiscreetWarning(UserWarning):
    """What was asked for is done, and is probably not what was meant; the text says how to say that it is.

    Examples
    --------
    >>> import warnings
    >>> import discreet as dc
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     domain = dc.Domain({"age": [17, 90]})
    >>> print(str(told[0].message).partition("; ")[2])
    write (17, 90) for bounds, or {'categories': [17, 90]} if just these two values are meant
    """


class SchemaError(DiscreetError, ValueError):
    """The declared columns and the columns of the data, or of a schema file, do not fit together.

    Examples
    --------
    >>> import discreet as dc
    >>> dc.Domain({"age": (0, 120)}).column("income")
    Traceback (most recent call last):
    ...
    discreet.errors.SchemaError: column 'income' is not declared in the domain; declared: 'age'

    Arguments that mend it are named apart, so that a job can spell them as they were typed.

    >>> print(SchemaError("column 'cost' has no role", keep=["cost"]))
    column 'cost' has no role; try keep=['cost']
    """

    def __init__(self, text: str, **fix: object) -> None:
        self.text, self.fix = text, fix
        super().__init__(text + ("; try " + ", ".join(f"{n}={v!r}" for n, v in fix.items()) if fix else ""))


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
    """A step would spend more than the ledger holds. Raised before any data are read.

    Examples
    --------
    >>> import discreet as dc
    >>> dc.Ledger(epsilon=1).spend("count", 2)
    Traceback (most recent call last):
    ...
    discreet.errors.BudgetExceeded: 'count' needs epsilon 2 but only 1 of 1 is left; spend less or open a larger ledger
    """


class FormatError(DiscreetError, ValueError):
    """A saved artifact is damaged, was changed after it was written, or is not one of ours.

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
        #: The fault in a word, where somebody counts faults.
        self.reason = reason


class StoreUnavailable(DiscreetError, OSError):
    """The store of a collector does not take reports at the moment: nothing was acknowledged; try again.

    Examples
    --------
    >>> print(StoreUnavailable("database or disk is full"))
    the store takes no reports at the moment: database or disk is full; what was sent can be sent again
    """

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"the store takes no reports at the moment: {why}; what was sent can be sent again")


class TooFewReports(DiscreetError, ValueError):
    """A collected task has fewer reports than it says must have come before anything is read.

    Examples
    --------
    >>> print(TooFewReports(12, 1000))
    12 reports have come, and the task lets nobody read fewer than 1,000; wait for more
    """

    def __init__(self, reports: int, minimum: int) -> None:
        self.reports, self.minimum = reports, minimum
        super().__init__(
            f"{reports:,} reports have come, and the task lets nobody read fewer than {minimum:,}; wait for more"
        )


class MissingExtra(DiscreetError, ImportError):
    """A job needs a library that comes with an optional extra of this package.

    Parameters
    ----------
    job : str
        What cannot be done.
    extra : str
        The extra that brings the library.

    Examples
    --------
    >>> print(MissingExtra("drawing a synopsis", "plot"))
    drawing a synopsis needs the extra 'plot'; run pip install 'discreet[plot]'
    """

    def __init__(self, job: str, extra: str) -> None:
        self.job, self.extra = job, extra
        super().__init__(f"{job} needs the extra {extra!r}; run pip install 'discreet[{extra}]'")

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.job, self.extra)


class MissingStudies(DiscreetError, ImportError):
    """The published experiments are asked for, and their package is not installed.

    Examples
    --------
    >>> print(MissingStudies())
    the studies are a package of their own, which is not installed; run pip install discreet-studies,
    or in a clone pip install ./studies
    """

    def __init__(self) -> None:
        super().__init__(
            "the studies are a package of their own, which is not installed; "
            "run pip install discreet-studies, or in a clone pip install ./studies"
        )
