"""SELECT statements as plans: aggregates, conditions, groups, and left joins with public tables.

A join looks up columns of a public table by a declared key, row by row: it changes no sensitivity.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from discreet import engines
from discreet.core import Categorical, Column, Domain, Integer, Numeric, category_text, checks, read_column
from discreet.engines.readers import column_batches
from discreet.errors import InvalidArgument, InvalidType, MissingExtra
from discreet.synopses.opening import table
from discreet.synopses.queries import ask
from discreet.synopses.session.answer import labels_of
from discreet.synopses.session.measures import Count, Deviation, Distinct, Mean, Measure, Quantiles, Sum, Variance
from discreet.synopses.session.plan import Lookup

#: Clauses that a statement may have, and words for others.
_CLAUSES = ("expressions", "from_", "from", "joins", "where", "group", "kind", "order", "limit")
_WORDS = {"with_": "WITH", "group": "GROUP BY"}
_QUOTED = r"'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`"
#: Characters of a query.
_LONGEST = 10_000
_CAN = "COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN and PERCENTILE_CONT, WHERE, GROUP BY, ORDER BY, LIMIT and LEFT JOIN"


@dataclass(frozen=True)
class Compiled:
    """The arguments of a purchase, and how its answer is sorted: by name, falling or not, and how many are kept."""

    measures: dict[str, Measure]
    by: list[str]
    where: str | None
    lookups: tuple[Lookup, ...]
    order: tuple[tuple[str, bool], ...] = ()
    limit: int | None = None
    statement: Any = None

    def restated(self, error: InvalidArgument, names: Iterable[str]) -> InvalidArgument:
        """Return an error about the condition as one about the statement, with the statement that was meant."""
        import sqlglot

        if error.name != "where":
            return error
        fix = error.fix
        if fix.startswith("where="):
            condition = re.sub("is missing$", "IS NULL", ast.literal_eval(fix.removeprefix("where=")))
            where = _parsed(f"SELECT 1 WHERE {_with_quotes(condition, names)}")[0].args["where"]
            for name in where.find_all(sqlglot.exp.Identifier):
                name.set("quoted", not _is_plain(name.name))
            meant = self.statement.copy()
            meant.set("where", where)
            fix = f"query={meant.sql()!r}"
        return InvalidArgument("query", error.value, error.expected, fix)


def compiled(query: Any, domain: Domain, tables: Mapping[str, Any]) -> Compiled:
    """Read a statement; refuse what cannot be answered, and name the clause."""
    try:
        import sqlglot
    except ImportError:
        raise MissingExtra("SQL", "sql") from None
    if not isinstance(query, str):
        raise InvalidType("query", type(query).__name__, "one SELECT statement", "query='SELECT COUNT(*) FROM t'")
    if len(query) > _LONGEST:
        raise InvalidArgument("query", query, f"at most {_LONGEST:,} characters")
    if mark := re.search(r"\{[#%{]", re.sub(_QUOTED, "", query)):  # of templates, which would be read as comments
        raise InvalidArgument("query", mark[0], "SQL without {#, {% and {{", "comments in /* and */")
    try:
        made = _parsed(query)
    except sqlglot.errors.SqlglotError as error:
        raise _unread(query, domain, error) from None
    except RecursionError:
        raise InvalidArgument("query", query, "a SELECT with fewer brackets within brackets") from None
    if len(made) != 1 or not isinstance(made[0], sqlglot.exp.Select):
        raise InvalidArgument("query", query, "one SELECT statement", "query='SELECT COUNT(*) FROM t'")
    return _Reader(sqlglot.exp, made[0], domain, tables).read()


def _parsed(query: str) -> list[Any]:
    """Return the statements of a text. Names may stand in double quotes or in back quotes."""
    import sqlglot

    class Own(sqlglot.Dialect):
        class Tokenizer(sqlglot.Tokenizer):
            IDENTIFIERS: ClassVar[list[str]] = ['"', "`"]  # type: ignore[assignment]

    return [one for one in sqlglot.parse(query, read=Own) if one]


def _is_plain(name: str) -> bool:
    """Return whether a name needs no quotation marks in SQL."""
    import sqlglot

    try:
        return [token.token_type for token in sqlglot.tokenize(name)] == [sqlglot.TokenType.VAR]
    except sqlglot.errors.SqlglotError:
        return False


def _with_quotes(text: str, names: Iterable[str]) -> str:
    """Return SQL with the names that need quotation marks in them."""
    odd = {name.lower(): name for name in sorted(names, key=len, reverse=True) if not _is_plain(name)}
    if not odd:
        return text
    pattern = re.compile(rf"{_QUOTED}|(?<!\w)({'|'.join(map(re.escape, odd))})(?!\w)", re.IGNORECASE)
    return pattern.sub(lambda m: f'"{odd[m[1].lower()]}"' if m[1] else m[0], text)


def _unread(query: str, domain: Domain, error: Any) -> InvalidArgument:
    """Return the error for a text that is not SQL: where, why, and the text with names in quotes if that helps."""
    import sqlglot

    fixed = _with_quotes(query, domain.names)
    try:
        helps = fixed != query and len(_parsed(fixed)) == 1
    except sqlglot.errors.SqlglotError:
        helps = False
    if found := getattr(error, "errors", None):
        line, word = found[0]["line"], str(found[0]["highlight"])
        column, cause = found[0]["col"] - len(word) + 1, str(found[0]["description"])
        cause = "something is missing, or a word of SQL is used as a name" if "<class" in cause else cause
    else:
        opened = [m for m in re.finditer(rf"{_QUOTED}|(['\"`])", query) if m[1]]
        before = query[: opened[0].start()] if opened else query
        line, column, word = before.count("\n") + 1, len(before) - before.rfind("\n"), opened[0][1] if opened else ""
        cause = "this quotation mark is not closed" if opened else "it cannot be read"
    if helps:
        cause = "the name of this column is no plain word of SQL, so it needs double quotes"
    expected = f"a SELECT that can be read; line {line}, column {column}, at {word!r}: {cause}"
    return InvalidArgument("query", query, expected, f"query={fixed!r}" if helps else "")


class _Reader:
    """Reads one statement. ``exp`` are sqlglot's kinds of expressions."""

    def __init__(self, exp: Any, query: Any, domain: Domain, tables: Mapping[str, Any]) -> None:
        self.exp, self.query, self.domain, self.tables = exp, query, domain, tables
        self.lookups: list[Lookup] = []
        self.sides: dict[str, dict[str, str] | None] = {}  # tables, and the columns that a public one is asked for

    def read(self) -> Compiled:
        exp, args = self.exp, self.query.args
        for name, clause in args.items():
            if clause and name not in _CLAUSES:
                raise self.wrong(_WORDS.get(name, name.upper().rstrip("_")), clause)
        source = (args.get("from_") or args.get("from")).this if args.get("from_") or args.get("from") else None
        if not isinstance(source, exp.Table) or any(v for k, v in source.args.items() if k not in ("this", "alias")):
            raise self.wrong("FROM", source, "FROM with the name of one table, such as FROM t")
        self.sides[source.alias_or_name] = None
        for join in args.get("joins") or ():
            self.join(join)
        group = args.get("group")
        if group is not None and any(v for k, v in group.args.items() if k != "expressions"):
            raise self.wrong("GROUP BY", group, "GROUP BY with columns")
        shown = self.query.expressions
        places = {str(i): each.unalias() for i, each in enumerate(shown, 1)}  # GROUP BY 1
        by = [self.name("GROUP BY", places.get(each.name, each) if isinstance(each, exp.Literal) else each)
              for each in (group.expressions if group is not None else ())]  # fmt: skip
        # A figure with the name of a column would be read by that column's bounds in a file.
        taken = {name + end for name in (*by, *self.domain.names) for end in ("", "_from", "_to")}
        taken |= {"few", "q", "std_error"}
        alone = sum(not isinstance(inner, exp.Column) for inner in places.values()) == 1
        measures: dict[str, Measure] = {}
        called = {name: name for name in by}  # what an answer can be sorted by: keys, aliases, figures, places
        for place, (each, inner) in enumerate(zip(shown, places.values(), strict=True), 1):
            if isinstance(inner, exp.Column):
                if (label := self.name("SELECT", inner)) not in by:
                    raise self.wrong("SELECT", each, f"GROUP BY {label}, or an aggregate of {label}")
            else:
                label = each.alias or inner.sql().lower()
                label = label if label not in measures else f"{label} {len(measures)}"
                measures[label], other = self.measure(inner), label
                if each.alias and not isinstance(measures[label], Count) and re.fullmatch(r"(?i)count\(.*\)", label):
                    other += "_"  # its error would be checked as that of a count
                while taken & (columns := {other, *([] if alone else labels_of(other, alone))}):
                    other += "_"
                if other != label:
                    raise self.wrong("AS", each, f"{inner.sql()} AS {_with_quotes(other, [other])}")
                taken |= columns
            called |= {name: label for name in (each.alias, inner.sql().lower(), str(place), label) if name}
        if not measures:
            raise self.wrong("SELECT", shown[0], "an aggregate such as COUNT(*)")
        where, limit, order = args.get("where"), args.get("limit"), []
        if limit is not None and not (isinstance(limit.expression, exp.Literal) and limit.expression.name.isdigit()):
            raise self.wrong("LIMIT", limit, "LIMIT 10")
        for item in args["order"].expressions if args.get("order") else ():
            name = item.this.name if isinstance(item.this, (exp.Column, exp.Literal)) else item.this.sql().lower()
            if name not in called and isinstance(item.this, exp.Column):
                name = self.name("ORDER BY", item.this)
            if name not in called:
                raise self.wrong("ORDER BY", item.this, "ORDER BY with a column of GROUP BY or a figure of SELECT")
            order.append((called[name], bool(item.args.get("desc"))))
        condition = None if where is None else self.condition(where.this)
        most = None if limit is None else int(limit.expression.name)
        return Compiled(measures, by, condition, tuple(self.lookups), tuple(order), most, self.query)

    def wrong(self, clause: str, found: Any, fix: str = "") -> InvalidArgument:
        shown = found.sql() if hasattr(found, "sql") else ", ".join(x.sql() for x in found or ())
        shown = shown if shown.upper().startswith(clause) else f"{clause} {shown}"
        return InvalidArgument("query", shown[:60], f"a SELECT with {_CAN} alone", fix or f"leaving out {clause}")

    def name(self, clause: str, column: Any) -> str:
        """Return the column that is meant."""
        if not isinstance(column, self.exp.Column):
            raise self.wrong(clause, column, f"{clause} with names of columns")
        if column.table and column.table not in self.sides:
            near = checks.nearest(column.table, list(self.sides)) or next(iter(self.sides))
            raise self.wrong(clause, column, f"{near}.{column.name}")
        known, name = self.sides.get(column.table), str(column.name)
        if known is not None:
            if name not in known:
                raise self.wrong(clause, column, f"a public table with a column {name} that no other table has")
            return known[name]
        own = [*self.domain.names, *(one.column.name for one in self.lookups)]
        same = [n for n in own if n.lower() == name.lower()]  # names without quotation marks have no case
        return same[0] if name not in own and len(same) == 1 and not column.this.quoted else name

    def measure(self, found: Any) -> Measure:
        exp = self.exp
        if isinstance(found, exp.Count):
            if isinstance(found.this, exp.Distinct) and len(found.this.expressions) == 1:
                return Distinct(self.name("COUNT", found.this.expressions[0]))
            return Count() if isinstance(found.this, (exp.Star, exp.Literal)) else Count(self.name("COUNT", found.this))
        kinds: dict[type[Measure], Any] = {
            Sum: exp.Sum, Mean: exp.Avg, Variance: (exp.Variance, exp.VariancePop), Quantiles: exp.Median,
            Deviation: (exp.Stddev, exp.StddevPop, exp.StddevSamp),
        }  # fmt: skip
        for measure, kind in kinds.items():
            if isinstance(found, kind):
                return measure(self.name(found.key.upper(), found.this))
        share, column = None, None
        if isinstance(found, exp.WithinGroup) and isinstance(found.this, (exp.PercentileCont, exp.PercentileDisc)):
            share, order = found.this.this, found.expression.expressions
            column = order[0].this if len(order) == 1 and not order[0].args.get("desc") else None
        elif isinstance(found, exp.Quantile):
            share, column = found.args.get("quantile"), found.this
        if isinstance(share, exp.Literal) and not share.is_string and column is not None:
            return Quantiles(self.name("quantile", column), (checks.probability("query", float(share.name)),))
        raise self.wrong("SELECT", found, "an aggregate of a column, such as AVG(age)")

    def condition(self, where: Any) -> str:
        """Return a condition in the grammar of questions to a synopsis."""
        exp = self.exp
        fine = (exp.And, exp.Or, exp.Not, exp.Paren, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between,
                exp.In, exp.Is, exp.Like, exp.Literal, exp.Boolean, exp.Column, exp.Identifier, exp.Null,
                exp.Neg)  # fmt: skip
        where = where.transform(lambda node: node.this if isinstance(node, exp.Cast) and node.this.is_string else node)
        for node in where.walk():
            if not isinstance(node, fine) or (isinstance(node, exp.In) and node.args.get("query")):
                raise self.wrong("WHERE", where, f"WHERE {ask.example(self.domain, where.sql())}")

        own = {*self.domain.names, *(one.column.name for one in self.lookups)}

        def plain(node: Any) -> Any:
            if not isinstance(node, exp.Column):
                return node
            name = self.name("WHERE", node)
            # Names in double quotes may be texts in a question, but not in SQL.
            return exp.column(name, quoted=True) if name in own else exp.Var(this=ask.column_text(name))

        return str(where.transform(plain).sql())

    def join(self, join: Any) -> None:
        """Declare the columns of a public table as functions of its key."""
        exp, other, on, using = self.exp, join.this, join.args.get("on"), join.args.get("using")
        left = join.args.get("side") == "LEFT" and join.args.get("kind") in (None, "", "OUTER")
        if not left or not isinstance(other, exp.Table):
            raise self.wrong("JOIN", join, "LEFT JOIN towns USING (town)")
        if other.name not in self.tables:
            expected = f"a public table ({', '.join(map(repr, self.tables)) or 'none'} given)"
            raise InvalidArgument("tables", other.name, expected, f'tables={{"{other.name}": …}}')
        name = other.alias_or_name
        self.sides[name] = {}
        if using and len(using) == 1:
            own = theirs = using[0].name
        elif isinstance(on, exp.EQ) and isinstance(on.this, exp.Column) and isinstance(on.expression, exp.Column):
            pair = sorted((on.this, on.expression), key=lambda column: column.table == name)
            if [column.table == name for column in pair] != [False, True]:
                raise self.wrong("ON", on, f"ON t.key = {name}.key")
            own, theirs = self.name("ON", pair[0]), pair[1].name
        else:
            raise self.wrong("ON", on or join, f"ON t.key = {name}.key")
        known = [one.column.name for one in self.lookups]
        used = {column.name.lower() for column in self.query.find_all(exp.Column)}
        found = looked_up(self.tables[other.name], own, theirs, self.domain, other.name, used)
        self.lookups += (found := [one for one in found if one.column.name not in known])
        self.sides[name] = {one.column.name: one.column.name for one in found} | {theirs: own}


def looked_up(public: Any, own: str, theirs: str, domain: Domain, named: str, used: set[str]) -> list[Lookup]:
    """Return the columns of a public table as functions of a declared column, which must be its unique key.

    Columns that cannot be declared are refused if they are ``used``, names in small letters, and left out otherwise.
    """
    source = engines.open(table(public))
    if theirs not in source.names:
        near = checks.nearest(theirs, list(source.names)) or source.names[0]
        raise InvalidArgument("tables", f"{named}.{theirs}", "a column of the public table", f"{named}.{near}")
    batches = [found for _, found in column_batches(source, source.names)]
    columns = {n: pa.chunked_array([b[n] for b in batches]).combine_chunks() for n in source.names}
    key = domain.columns[domain.position(own)]
    if isinstance(key, Categorical):
        places = {category_text(c): i for i, c in enumerate(key.categories)}
    elif isinstance(key, Integer) and key.n_values <= 2**20:
        places = {str(key.least + i): i for i in range(key.n_values)}
    else:
        raise InvalidArgument("query", f"ON {own}", "a join on a column of categories or whole numbers", "another key")
    texts = [None if v is None else category_text(v).strip() for v in columns[theirs].to_pylist()]
    given = [text for text in texts if text is not None]
    if len(set(given)) < len(given):
        raise InvalidArgument("tables", f"{named}.{theirs}", "a unique key", "one row per key")
    at = np.array([places.get(text, -1) if text is not None else -1 for text in texts], np.int64)
    made = []
    for name, array in columns.items():
        if name == theirs or name in domain.names:
            continue
        try:
            column, coordinates = _declared(name, array)
            column = read_column(name, column.to_dict())  # as it will be read from the guarantee
        except InvalidArgument:
            if name.lower() in used:
                raise
            continue
        values = np.full(len(places), np.nan)
        values[at[at >= 0]] = coordinates[at >= 0]
        made.append(Lookup(column, own, values))
    return made


def _declared(name: str, array: pa.Array) -> tuple[Column, Any]:
    """Declare a public column by its own values, and return its coordinates."""
    values = [None if isinstance(v, float) and not math.isfinite(v) else v for v in array.to_pylist()]
    present = [v for v in values if v is not None]
    if pa.types.is_integer(array.type) and present:
        low, high = min(present), max(present)
        made: Column = Integer(low, high if high > low else low + 1, missing="own", name=name)
    elif pa.types.is_floating(array.type) and present:
        low, high = min(present), max(present)
        made = Numeric(name, low, high if high > low else low + 1.0, missing="own")
    else:
        texts = [None if v is None else category_text(v).strip() for v in values]  # as declared categories are
        kinds = sorted({text for text in texts if text is not None}) or [""]
        place = {text: i + 0.5 for i, text in enumerate(kinds)}
        coordinates = [np.nan if text is None else place[text] for text in texts]
        return Categorical(name, tuple(kinds), missing="own"), np.array(coordinates)
    return made, np.array([np.nan if v is None else float(v) for v in values])
