"""A short client of numbers, written from docs/wire-format.md and docs/wire-numbers.md alone."""

import hashlib
import json
import math
from fractions import Fraction


class PageClient:
    def __init__(self, text, coins):
        self.task, self.digest = json.loads(text), hashlib.sha256(text.encode()).hexdigest()
        self.m, self.stream = self.task["mechanism"], iter(coins)

    def toss(self, name):
        for digit in bytes.fromhex(self.task["coins"][name]):
            byte = next(self.stream)
            if byte != digit:
                return byte < digit
        return False

    def below(self, n):
        bits = max(1, (n - 1).bit_length())
        while True:
            number = int.from_bytes(bytes(next(self.stream) for _ in range(-(-bits // 8))), "big") & ((1 << bits) - 1)
            if number < n:
                return number

    def near(self, start, width, others):
        if self.toss("keep"):
            return start + self.below(width)
        t = self.below(others)
        return t if t < start else t + width

    def share(self, x, n, low, high):
        return min(max(math.floor((x - low) * n / (high - low)), 0), n)

    def number(self, x, low, high):
        if not isinstance(x, (int, float)) or math.isnan(float(x)):
            return None
        return Fraction(low if x == -math.inf else high) if abs(float(x)) == math.inf else Fraction(float(x))

    def bucket(self, x):
        low, high, d = Fraction(self.m["low"]), Fraction(self.m["high"]), self.m["buckets"]
        if self.m["scale"] == "linear":
            return min(self.share(x, d, low, high), d - 1)
        a, b, big, number = 2**64, math.floor(2**64 * high / low), math.floor(2**64 * x / low), 0
        for _ in range(d.bit_length() - 1):
            middle = math.isqrt(a * b)
            a, b, number = (middle, b, 2 * number + 1) if big >= middle else (a, middle, 2 * number)
        return number

    def said(self, value, low, high, budget):
        x, points, w = self.number(value, low, high), 2 * self.m["steps"] + 1, self.m["window"]
        place = 2**30 if x is None else (self.share(x, 2**32, Fraction(low), Fraction(high)) + 1) // 2
        method = "duchi" if self.m["method"] == "hybrid" and budget <= Fraction(61, 100) else self.m["method"]
        outputs = {"duchi": 2, "piecewise": points, "hybrid": points + 2}[method]
        if method == "piecewise" or (method == "hybrid" and self.toss("choice")):
            start, rest = divmod((self.m["steps"] - w) * place, 2**30)
            return self.near(start + (self.below(2**30) < rest), 2 * w + 1, points - 2 * w - 1), outputs
        limit = place if self.toss("informed") else 2**30
        return points * (method == "hybrid") + (self.below(2**31) < limit), outputs

    def report(self, value):
        m, budget, fields = self.m, Fraction(self.m["epsilon"]), []
        if m["mechanism"] == "square-wave":
            x, d, h = self.number(value, m["low"], m["high"]), m["buckets"], m["reach"]
            fields = [(self.near(self.below(d) if x is None else self.bucket(x), 2 * h + 1, d - 1), d + 2 * h)]
        elif m["mechanism"] == "mean-response":
            fields = [self.said(value, m["low"], m["high"], budget)]
        elif m["mechanism"] == "mean-vector":
            d, taken = len(m["low"]), []
            for i in range(max(1, min(d, math.floor(budget * 2 / 5)))):
                taken.append(self.below(d - i))
                taken[-1] = [n for n in range(d) if n not in taken[:-1]][taken[-1]]
            values = value if isinstance(value, list) and len(value) == d else [None] * d
            for n in taken:
                fields += [(n, d), self.said(values[n], m["low"][n], m["high"][n], budget / len(taken))]
        packed = shift = 0
        for field, size in fields:
            packed, shift = packed | field << shift, shift + max(1, (size - 1).bit_length())
        return packed.to_bytes(-(-shift // 8), "little")


def frame(report, key):
    return bytes([0x10]) + key + report
