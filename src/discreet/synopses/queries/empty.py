"""A release of nothing is said to be one: when a noisy number of rows is within its noise of zero.

If no row can be read as the schema declares it (a decimal comma, another format of dates), all are missing, and a
release of an empty table is drawn with the whole budget. No raw count may reveal it; the noisy one may.
"""

import math

#: A number of rows up to this many standard errors may be noise around zero. Laplace noise exceeds ln 50/√2 of them in
#: one draw of a hundred; sums of such noise do so more rarely.
EMPTY_UP_TO = math.log(50) / math.sqrt(2)


def rows_text(total: float) -> str:
    """Write a noisy number of rows for a reader: noise may make it negative, and no table has less than no rows."""
    return f"about {max(total, 0.0):,.0f} rows"


def empty_text(total: float, variance: float) -> str:
    """Return a warning if a noisy number of rows is within its noise of zero; nothing otherwise. Post-processing."""
    error = math.sqrt(variance)
    if total > EMPTY_UP_TO * error:
        return ""
    return (
        f"the number of rows cannot be told from zero ({rows_text(total)}, standard error {error:,.1f}). Perhaps no "
        "row could be read as the schema declares it: look at decimal signs, dates and the spelling of categories. "
        "What was spent stays spent"
    )
