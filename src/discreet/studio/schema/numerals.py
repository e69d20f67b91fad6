"""Numbers as people type them: a decimal comma will do, thousands may be parted; what may be either is asked."""

import math
import re

_GROUP = r"[+-]?[1-9]\d{0,2}"


class TwoWays(ValueError):
    """A number that can be read in two ways; ``values`` are what to type for each."""

    def __init__(self, text: str, whole: str, point: str) -> None:
        super().__init__(text)
        self.values = {"text": text, "whole": whole, "point": point, "comma": point.replace(".", ",")}


def read_number(text: str, thousands: str = "", *, whole: bool = False) -> int | float | None:
    """Return the number that was typed, None if it is not one.

    ``thousands`` is the declared separator. With ``whole``, 1.500 cannot be one and a half. Raises `TwoWays` if three
    digits follow a single point or comma: 100.000 is a hundred to some and a hundred thousand to others.
    """
    plain = re.sub(r"[\s_\u00a0\u2009\u202f]", "", text).replace("−", "-")
    if re.fullmatch(rf"{_GROUP}(['\u2019]\d{{3}})+([.,]\d+)?", plain):
        plain = re.sub("['\u2019]", "", plain)
    elif re.fullmatch(rf"{_GROUP}([.,])\d{{3}}(\1\d{{3}})*((?!\1)[.,]\d+)?", plain):
        mark = next(c for c in plain if c in ".,")
        rest = plain.replace(mark, "")
        once = len(rest) == len(plain) - 1 and not set(rest) & {".", ","}
        if once and mark != thousands and not (whole and not plain.endswith("000")):
            raise TwoWays(text.strip(), rest, certain(plain.replace(",", ".").rstrip("0")))
        plain = rest
    plain = re.sub(r"^([+-]?\d*),(\d+(?:e[+-]?\d+)?)$", r"\1.\2", plain)
    try:
        value = float(plain)
    except ValueError:
        return None
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 and not re.search(r"[.e]", plain) else value


def certain(text: str) -> str:
    """Return a number with a decimal point that cannot be mistaken for thousands."""
    return f"{text}0" if re.fullmatch(rf"{_GROUP}\.(\d{{3}})?", text) else text
