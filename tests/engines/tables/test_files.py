"""Files: any bytes after a header are rows or no rows, never an error; large files need little memory."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
import textwrap

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet import engines
from discreet.engines import GridMap
from discreet.engines.tables import csv_file
from discreet.engines.tables.encode import Encoder
from discreet.engines.tables.text_kernels import RECORD_LIMIT
from discreet.errors import DataSourceError, DiscreetError

OWN = dc.Domain({"x": {"bounds": [0, 4], "missing": "own"}, "c": {"categories": ["a", "b"], "missing": "own"}})
GRID = GridMap(OWN, 4)
relaxed = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def count(path, content: bytes, grid=GRID, **options):
    path.write_bytes(content)
    return engines.open(path).count(grid, **options)


def cells(path, content: bytes, grid=GRID):
    return count(path, content, grid).dense().reshape(grid.shape)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "t.csv"


def test_a_small_file_reads_as_it_looks(file):
    found = cells(file, b'\xef\xbb\xbf c , x,note\r\na,1.5,hello\r\n\r\nb, 2 ,"a, b"\r\na,,x\r\nzzz,3,')
    expected = np.zeros((5, 3), int)
    expected[1, 0] = expected[2, 1] = expected[4, 0] = expected[3, 2] = 1
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("line", "is_row"),
    [
        (b"1,a", True),
        (b"1,a,", False),
        (b"1", False),
        (b"", False),
        (b'"1","a"', True),
        (b'"1\n1",a', True),
        (b'"1,a"', False),
        (b'1,a"', True),
        (b'1,"a""b"', True),
        (b'1,"a"b', True),
        (b"\xff\xfe\x00,\xc3", True),
    ],
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_line_is_a_row_if_it_has_the_fields_of_the_header(file, line, is_row, end):
    content = b"x,c\n3,b" + end + line + end + b"3,b" + end
    found = cells(file, content)
    assert found.sum() == 2 + is_row
    assert found[3, 1] == 2


@relaxed
@given(body=st.binary(max_size=300) | st.text('01.,"\n\r\tab e-', max_size=300).map(str.encode))
@example(body=b'"')
@example(body=b'1,"a\n2,b\n')
def test_no_bytes_after_a_header_cause_an_error_or_depend_on_batches(body, tmp_path):
    content = b"x,c\n" + body
    whole = count(tmp_path / "f.csv", content)
    assert count(tmp_path / "f.csv", content, batch_size=1) == whole


@relaxed
@given(body=st.text('01.,"\n\rab', max_size=200))
def test_records_are_those_of_a_lenient_csv_reader(body, tmp_path):
    found = cells(tmp_path / "f.csv", b"x,c\n" + body.encode())
    expected = np.zeros((5, 3), int)
    for row in csv.reader(io.StringIO(body, newline="")):
        if len(row) == 2:
            number = Encoder(OWN.column("x")).objects([row[0]])[0]
            x = 4 if np.isnan(number) else int(min(number, 3))
            expected[x, {"a": 0, "b": 1}.get(row[1].strip(), 2)] += 1
    np.testing.assert_array_equal(found, expected)


@settings(max_examples=300, deadline=None)
@given(
    st.floats(allow_nan=False) | st.decimals(allow_nan=False) | st.integers(),
    st.sampled_from(["{}", " {}\n", "\t{:+}"]),
)
@example(1e22, "{}")
@example(9007199254740993, "{}")
@example(123456789012345678901234567890, "{}")
def test_a_number_is_read_to_the_last_bit(value, style):
    text = style.format(value)
    assert Encoder(dc.Numeric("x", 0, 1)).objects([text]).tolist() == [float(text)]


@settings(max_examples=300, deadline=None)
@given(st.text("0123456789+-.eE_ xinfatyINF", max_size=12))
@example("1e400")
@example("-1e-400")
@example(".")
@example("1.e5")
@example("1e")
@example("1e+")
def test_text_is_a_number_exactly_when_python_thinks_so_but_for_underscores(text):
    got = Encoder(dc.Numeric("x", 0, 1)).objects([text, "0" * 400 + "1" + "0" * 400])
    try:
        expected = float(text) if "_" not in text else float("nan")
    except ValueError:
        expected = float("nan")
    np.testing.assert_array_equal(got, [expected, np.inf])


def test_hard_and_easy_numbers_in_one_column_do_not_touch_each_other(file):
    text = ["0.1234567890123456789", "junk", "1.5", "1e999", "-1e999", "3" * 50, "nan", "2.25"] * 100
    got = Encoder(dc.Numeric("x", 0, 1)).objects(text)
    expected = [float(t) if t != "junk" else float("nan") for t in text]
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("junk", [b'"' + b"y" * 3000, b"1," + b"a" * 3000, b'"' + b"\n1,b" * 1000 + b'",a'])
def test_records_are_the_same_wherever_blocks_end(file, junk, monkeypatch):
    lines = b"1,a\n" * 400
    content = b"x,c\n" + lines + junk + b"\n" + lines
    whole = count(file, content)
    for size in (5001, 5002, 6000, 2**16):
        monkeypatch.setattr(csv_file, "_BLOCK", size)
        assert count(file, content) == whole


def test_an_unclosed_quote_in_a_large_file_is_not_an_error(file):
    before, after = b"1,a\n" * 1000, b"2,b\n" * (3 * RECORD_LIMIT)
    found = cells(file, b"x,c\n" + before + b'1,"a\n' + after)
    assert found[1, 0] == 1000
    assert found.sum() == 1000  # what follows is inside the quotes, and that record is too long
    long = b"1," + b"a" * (2 * RECORD_LIMIT) + b"\n"
    found = cells(file, b"x,c\n" + before + long + after)
    assert found[1, 0] == 1000
    assert found[2, 1] == 3 * RECORD_LIMIT
    assert found.sum() == 1000 + 3 * RECORD_LIMIT


def test_a_header_without_end_is_refused(file):
    file.write_bytes(b"x" * (2 * RECORD_LIMIT))
    with pytest.raises(DataSourceError, match="no header"):
        engines.open(file)


def test_a_quoted_header_and_a_dictionary_of_text_work(tmp_path):
    (tmp_path / "q.csv").write_bytes(b'"x","the ""c"""\n1,a\n')
    assert engines.open(tmp_path / "q.csv").names == ("x", 'the "c"')
    table = pa.table({"x": ["1", "bad", None, "3"], "c": ["a", "b", "a", None]})
    coded = pa.table({n: table[n].dictionary_encode() for n in table.column_names})
    pq.write_table(coded, tmp_path / "d.parquet")
    assert engines.open(tmp_path / "d.parquet").count(GRID) == engines.open(table).count(GRID)


def test_csv_and_parquet_files_may_stand_side_by_side(tmp_path):
    (tmp_path / "a.csv").write_text("c,x\na,1\n")
    pq.write_table(pa.table({"x": [1.5], "c": ["a"]}), tmp_path / "b.PARQUET")
    (tmp_path / "_SUCCESS").write_text("")
    assert cells_of(tmp_path)[1, 0] == 2
    spark = tmp_path / "written-by-spark.parquet"
    spark.mkdir()
    (tmp_path / "b.PARQUET").rename(spark / "part-0.parquet")
    assert cells_of(str(tmp_path / "*.parquet"))[1, 0] == 1
    assert engines.open([tmp_path, tmp_path / "a.csv"]).count(GRID) == engines.open(tmp_path).count(GRID)


def cells_of(path):
    return engines.open(path).count(GRID).dense().reshape(GRID.shape)


def test_a_file_cut_short_is_named_and_not_quoted(tmp_path):
    import gzip

    packed = gzip.compress(b"x,c\n" + np.random.default_rng(0).bytes(50_000))
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(packed[:-20_000])
    with pytest.raises(DataSourceError, match=r"cut\.csv\.gz"):
        engines.open(path).count(GRID)


SCRIPT = """
import resource, sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
import discreet as dc
from discreet.engines import GridMap, open as open_table

path, rows = sys.argv[1], int(sys.argv[2])
grid = GridMap(dc.Domain({"x": (0, 1), "y": (0, 1)}), 64)
small = path + ".small.parquet"
pq.write_table(pa.table({"x": [0.5], "y": [0.5]}), small)
open_table(small).count(grid)                       # imports and compiled kernels are not what is measured
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
total = open_table(path).count(grid).counts.sum()
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert total == rows
print((after - before) * 1024)
"""


def growth(path, rows):
    """Write a Parquet file with one huge row group, and return how far counting it raises the peak of memory."""
    rng = np.random.default_rng(0)
    schema = pa.schema({"x": pa.float64(), "y": pa.float64(), "z": pa.float64()})
    chunk = pa.table({n: rng.random(10**6) for n in schema.names}, schema)
    pq.write_table(pa.concat_tables([chunk] * (rows // 10**6)), path, row_group_size=rows, use_dictionary=False)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), str(path), str(rows)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.slow
def test_a_parquet_file_is_counted_in_much_less_memory_than_it_holds(tmp_path):
    assert growth(tmp_path / "p.parquet", 4 * 10**6) < 4 * 10**6 * 16 / 2


@pytest.mark.slow
def test_twenty_million_rows_of_parquet_need_less_than_a_gibibyte(tmp_path):
    assert growth(tmp_path / "p.parquet", 2 * 10**7) < 2**30


def test_a_file_named_twice_is_counted_once(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a\n0.5\n0.6\n")
    (tmp_path / "link.csv").symlink_to(path)
    grid = GridMap(dc.Domain({"a": (0, 1)}), 1)
    for paths in ([path, str(path)], [path, tmp_path / "link.csv"], str(tmp_path / "*.csv")):
        assert engines.open(paths).count(grid).dense().tolist() == [2]


def test_a_first_line_that_is_a_row_is_not_quoted(tmp_path):
    for text in ("35,Alice Smith,HIV+\n36,Bob,none\n", 'age,"name\n35,Alice Smith HIV+\n'):
        path = tmp_path / "x.csv"
        path.write_text(text)
        for domain in (dc.Domain({"age": (0, 1), "name": ["x"]}), dc.Domain.box(0, [1, 1])):
            with pytest.raises(DiscreetError) as caught:
                engines.open(path).count(GridMap(domain, 2))
            assert "Alice" not in str(caught.value)
            assert "HIV" not in str(caught.value)
