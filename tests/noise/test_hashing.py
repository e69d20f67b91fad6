"""The public hashes: equal to their written definition, independent enough for the estimators, deaf to bad rows."""

from __future__ import annotations

import itertools
import pickle
import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.errors import InvalidArgument, InvalidType
from discreet.noise.hashing import hash_kernels as kernels
from discreet.noise.hashing.families import HashFamily, fingerprint

P = 2**61 - 1
MASK = 2**64 - 1
OFFICIAL_KEY = bytes(range(16))
unhurried = settings(deadline=None)  # a kernel compiles on its first call


# The definition, written a second time with Python's unbounded integers.


def siphash24(key: bytes, message: bytes) -> int:
    k0, k1 = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def half_round(a: int, b: int, c: int, d: int, s: int, t: int) -> None:
        v[a] = (v[a] + v[b]) & MASK
        v[c] = (v[c] + v[d]) & MASK
        v[b] = (v[b] << s | v[b] >> 64 - s) & MASK ^ v[a]
        v[d] = (v[d] << t | v[d] >> 64 - t) & MASK ^ v[c]
        v[a] = (v[a] << 32 | v[a] >> 32) & MASK

    def rounds(n: int) -> None:
        for _ in range(n):
            half_round(0, 1, 2, 3, 13, 16)
            half_round(2, 1, 0, 3, 17, 21)

    padded = message + bytes(7 - len(message) % 8) + bytes([len(message) % 256])
    for start in range(0, len(padded), 8):
        word = int.from_bytes(padded[start : start + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def key_bytes(key: int) -> bytes:
    return key.to_bytes(16, "little")


def message(value: object) -> bytes:
    if isinstance(value, int):
        return (value & MASK).to_bytes(8, "little") + b"\1"
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value).encode("utf-8", "surrogatepass") + b"\2"
    if isinstance(value, bytes):
        return value + b"\2"
    return b"\0"


def expected_fingerprints(values: list[object], key: int) -> list[int]:
    return [siphash24(key_bytes(key), message(v)) for v in values]


def expected_bucket(value: object, function: int, family: HashFamily) -> int:
    key = key_bytes(family.key)
    x = siphash24(key, message(value)) % P
    terms = [siphash24(key, function.to_bytes(8, "little") + bytes([i, 3])) % P for i in range(family.independence)]
    return sum(a * x**i for i, a in enumerate(terms)) % P * family.width >> 61


# SipHash


@pytest.mark.parametrize(
    ("length", "published"),
    [
        (0, 0x726FDB47DD0E0E31),
        (1, 0x74F839C593DC67FD),
        (2, 0x0D6C8009D9A94F5A),
        (3, 0x85676696D7FB7E2D),
        (4, 0xCF2794E0277187B7),
        (5, 0x18765564CD99A68D),
        (6, 0xCBC9466E58FEE3CE),
        (7, 0xAB0200F58B01D137),
        (8, 0x93F5F5799A932462),
        (15, 0xA129CA6149BE45E5),
    ],
)
def test_the_reference_gives_the_published_vectors(length: int, published: int) -> None:
    assert siphash24(OFFICIAL_KEY, bytes(range(length))) == published


@pytest.mark.parametrize("few", [True, False])
def test_the_kernel_gives_the_vectors_of_all_official_messages(few: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Message 00 01 .. n-1 is the content 00 .. n-2 followed by the tag n-1."""
    monkeypatch.setattr(kernels, "few", lambda *_: few)
    monkeypatch.setattr(kernels, "_plain_rows", [0])
    k0, k1 = np.frombuffer(OFFICIAL_KEY, np.uint64)
    for n in range(1, 64):
        out = np.empty(1, np.uint64)
        content = np.frombuffer(bytes(range(n - 1)), np.uint8)
        kernels.siphash_bytes(content, np.array([0, n - 1], np.int32), np.uint64(n - 1), k0, k1, out)
        assert int(out[0]) == siphash24(OFFICIAL_KEY, bytes(range(n)))


# Fingerprints


@unhurried
@given(st.lists(st.none() | st.text() | st.binary() | st.integers()), st.integers(0, 2**128 - 1))
def test_fingerprints_of_any_list_follow_the_definition(values: list[object], key: int) -> None:
    assert fingerprint(values, key).tolist() == expected_fingerprints(values, key)


@unhurried
@given(st.lists(st.none() | st.text(st.characters(codec="utf-8"))), st.data())
def test_slices_and_chunks_and_every_arrow_layout_agree(values: list[str | None], data: st.DataObject) -> None:
    expected = expected_fingerprints(values, 7)
    start = data.draw(st.integers(0, len(values)))
    stop = data.draw(st.integers(start, len(values)))
    text = pa.array(values, pa.string())
    layouts = [text, text.cast(pa.large_string()), text.dictionary_encode(), pa.array(values, pa.string_view())]
    for column in layouts:
        assert fingerprint(column, 7).tolist() == expected
        assert fingerprint(column[start:stop], 7).tolist() == expected[start:stop]
        chunks = pa.chunked_array([column[:start], column[start:]])
        assert fingerprint(chunks, 7).tolist() == expected


@unhurried
@given(st.lists(st.none() | st.binary()))
def test_arrow_bytes_are_hashed_as_they_are(values: list[bytes | None]) -> None:
    expected = expected_fingerprints(values, 7)
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        assert fingerprint(pa.array(values, kind), 7).tolist() == expected


def test_fixed_size_bytes_and_long_texts() -> None:
    fixed = [b"abcd", None, b"\xff\0\0\0"]
    assert fingerprint(pa.array(fixed, pa.binary(4)), 7).tolist() == expected_fingerprints(fixed, 7)
    long = ["x" * n for n in (*range(40), 255, 256, 257, 5000)] + ["漢" * 1000]
    assert fingerprint(long, 7).tolist() == expected_fingerprints(long, 7)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", ">i4", "bool"])
def test_whole_numbers_agree_over_every_width(dtype: str) -> None:
    array = np.array([0, 1, 0, 1] if dtype == "bool" else [0, 1, 100, 127], dtype)
    expected = expected_fingerprints([int(v) for v in array], 7)
    assert fingerprint(array, 7).tolist() == expected
    assert fingerprint(array[::-1], 7).tolist() == expected[::-1]
    if dtype != ">i4":
        assert fingerprint(pa.array(array), 7).tolist() == expected
        with_null = pa.array([*array.tolist(), None], pa.array(array).type)
        assert fingerprint(with_null[1:], 7).tolist() == [*expected[1:], siphash24(key_bytes(7), b"\0")]


def test_numbers_are_taken_modulo_two_to_the_64() -> None:
    negative, top, beyond = fingerprint([-1, 2**64 - 1, 2**65 - 1], 7)
    assert negative == top == beyond
    assert fingerprint(np.array([2**64 - 1], np.uint64), 7)[0] == fingerprint(np.array([-1]), 7)[0] == negative


def test_text_equals_its_bytes_and_its_decomposed_form_but_no_number() -> None:
    composed, decomposed, content = fingerprint(["caf\u00e9", "cafe\u0301", "caf\u00e9".encode()], 7)
    assert composed == decomposed == content
    assert fingerprint(pa.array(["cafe\u0301"]), 7)[0] == composed
    eight = (1).to_bytes(8, "little")
    assert len(set(fingerprint([1, "1", eight, None, "", "\0"], 7).tolist())) == 6


def test_the_same_column_in_any_container() -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    words = ["cat", "dog", "émeu", "cat"]
    expected = fingerprint(words, 7).tolist()
    containers = [
        tuple(words),
        np.array(words),
        np.array(words, object),
        np.array(words, np.dtypes.StringDType()),
        pd.Series(words),
        pd.Series(words, dtype=object),
        pd.Series(words, dtype="category"),
        pd.Index(words),
        pl.Series(words),
        pl.Series(words, dtype=pl.Categorical),
    ]
    for column in containers:
        assert fingerprint(column, 7).tolist() == expected, type(column)
    numbers = [3, None, 4]
    assert fingerprint(pd.Series(numbers, dtype="Int64"), 7).tolist() == expected_fingerprints(numbers, 7)
    assert fingerprint(pl.Series(numbers), 7).tolist() == expected_fingerprints(numbers, 7)


def test_no_row_can_make_a_call_fail() -> None:
    missing = siphash24(key_bytes(7), b"\0")
    odd = [None, float("nan"), 2.5, object(), [1], {"a": 1}, np.datetime64("2020-01-01")]
    assert set(fingerprint(odd, 7).tolist()) == {missing}
    column = np.empty(len(odd), object)
    column[:] = odd
    assert set(fingerprint(column, 7).tolist()) == {missing}
    mixed = ["a", 1, b"\xff", None, "\ud800", 10**30, True]
    assert fingerprint(mixed, 7).tolist() == expected_fingerprints(mixed, 7)
    assert fingerprint(pa.nulls(3), 7).tolist() == [missing] * 3
    pd = pytest.importorskip("pandas")
    assert fingerprint(pd.Series([1, float("nan")], dtype=object), 7)[1] == missing


def test_arrow_text_that_is_not_unicode_is_hashed_as_its_bytes() -> None:
    contents = [b"ok", b"\xff\xfe", "cafe\u0301".encode(), b""]
    ends = np.cumsum([0, *map(len, contents)]).astype(np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(contents))]
    broken = pa.Array.from_buffers(pa.string(), len(contents), buffers)
    expected = expected_fingerprints(["ok", b"\xff\xfe", "caf\u00e9", ""], 7)
    assert fingerprint(broken, 7).tolist() == expected


def test_bytes_hidden_under_a_null_do_not_count() -> None:
    valid = pa.py_buffer(b"\x01")  # row 0 is valid, row 1 is null although it has content
    offsets = pa.py_buffer(np.array([0, 1, 4], np.int32))
    column = pa.Array.from_buffers(pa.string(), 2, [valid, offsets, pa.py_buffer(b"asecret"[:4])])
    assert fingerprint(column, 7).tolist() == expected_fingerprints(["a", None], 7)


def test_dictionaries_with_nulls_on_either_side() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([1, None, 0, 2], pa.int8()), pa.array(["a", None, "c"]))
    assert fingerprint(column, 7).tolist() == expected_fingerprints([None, None, "a", "c"], 7)


@pytest.mark.parametrize(
    "empty", [[], (), np.array([], int), pa.array([], pa.string()), pa.chunked_array([], pa.int8())]
)
def test_an_empty_column_has_no_fingerprints(empty: object) -> None:
    assert fingerprint(empty, 7).shape == (0,)
    assert HashFamily(4, 8, key=7).all(empty).shape == (4, 0)


# Arithmetic modulo 2^61 - 1


residues = st.integers(0, P - 1) | st.sampled_from([0, 1, P - 1, P - 2, 2**31 - 1, 2**31, 2**60, 2**32 - 1])


@unhurried
@given(residues, residues, residues)
def test_multiply_add_equals_big_integers(a: int, b: int, c: int) -> None:
    assert int(kernels.multiply_add(np.uint64(a), np.uint64(b), np.uint64(c))) == (a * b + c) % P


@unhurried
@given(st.lists(residues, min_size=2, max_size=16), residues)
def test_polynomials_equal_big_integers(terms: list[int], x: int) -> None:
    assert (
        int(kernels.polynomial(np.array(terms, np.uint64), np.uint64(x)))
        == sum(a * x**i for i, a in enumerate(terms)) % P
    )


@unhurried
@given(st.integers(0, MASK) | st.sampled_from([P, P + 1, 2 * P, MASK]))
def test_reduction_equals_big_integers(word: int) -> None:
    assert int(kernels.reduce_word(np.uint64(word))) == word % P


@unhurried
@given(residues, st.integers(2, 2**32) | st.just(2**32))
def test_buckets_equal_big_integers(h: int, width: int) -> None:
    assert int(kernels.bucket(np.uint64(h), np.uint64(width))) == h * width >> 61


# Families


@unhurried
@given(
    st.builds(
        HashFamily,
        st.integers(1, 2**63),
        st.integers(2, 2**32),
        key=st.integers(0, 2**128 - 1),
        independence=st.integers(2, 16),
    ),
    st.data(),
)
def test_families_follow_the_definition(family: HashFamily, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.text(max_size=20) | st.integers(), min_size=1, max_size=4))
    index = data.draw(st.lists(st.integers(0, family.n_functions - 1), min_size=len(values), max_size=len(values)))
    expected = [expected_bucket(v, j, family) for v, j in zip(values, index, strict=True)]
    assert family(values, index).tolist() == expected
    assert family(values[:1], index[0]).tolist() == expected[:1]
    stop = min(family.n_functions, index[0] + 2)
    table = family.all(values, start=index[0], stop=stop)
    assert table.shape == (stop - index[0], len(values))
    assert table[0].tolist() == family(values, index[0]).tolist()


def test_one_definition_behind_all_three_calls() -> None:
    family = HashFamily(50, 9, key=11, independence=3)
    values, index = np.arange(200), np.random.default_rng(0).integers(0, 50, 200)
    table = family.all(values)
    assert np.array_equal(family(values, index), table[index, np.arange(200)])
    buckets = np.random.default_rng(1).integers(0, 9, 200)
    assert np.array_equal(family.support(values, index, buckets), (table[index] == buckets[:, None]).sum(axis=0))
    assert np.array_equal(family.all(values, start=10, stop=20), table[10:20])


FROZEN_FINGERPRINTS = [
    "701330eed1c30f3d",
    "7bc96f73e57e7ebc",
    "102392ffc32a786a",
    "4d9c9078aed2a753",
    "45a637fa289906b6",
    "016dc5b9203cdcc9",
    "885b487a53ed1513",
    "7c69a7b61251ae3e",
    "3817459478bbc5a4",
    "158a40a8d8600717",
]
FROZEN_BUCKETS = [524, 731, 147, 789, 425, 187, 283, 157, 852, 444]
FROZEN_PAIRWISE = [685, 713, 36, 811, 384, 760, 301, 927, 529, 170]


def test_frozen_vectors_for_clients_in_other_languages() -> None:
    """These numbers never change: clients in the field compute them."""
    values = ["cat", "", "caf\u00e9", "0123456789", b"\x00\xff", 0, 1, -1, 2**40, None]
    assert [f"{f:016x}" for f in fingerprint(values, key=7)] == FROZEN_FINGERPRINTS
    three_wise = HashFamily(65536, 1024, key=7, independence=3)
    assert three_wise(values, index=np.arange(10) * 7281).tolist() == FROZEN_BUCKETS
    pairwise = HashFamily(2**63, 1000, key=2**128 - 1)
    assert pairwise(values, index=2**62 + 1).tolist() == FROZEN_PAIRWISE


def test_a_family_survives_pickle() -> None:
    family = HashFamily(1024, 256, key=2**127 + 5, independence=4)
    again = pickle.loads(pickle.dumps(family))
    assert again == family
    assert again.all(["a", "b"]).tolist() == family.all(["a", "b"]).tolist()
    assert hash(again) == hash(family)
    with pytest.raises(AttributeError):
        family.width = 3  # type: ignore[misc]


# What the estimators rely on. All seeded; with fresh keys a test would raise a false alarm with probability 2e-6.


@pytest.mark.parametrize("width", [2, 21, 256, 1000])
@pytest.mark.parametrize("independence", [2, 3])
def test_buckets_are_uniform(width: int, independence: int) -> None:
    family = HashFamily(200 * width, width, key=2024, independence=independence)
    one_value = family.all(["cat"]).ravel()  # over functions: exactly uniform
    assert stats.chisquare(np.bincount(one_value, minlength=width)).pvalue > 1e-6
    many_values = family(np.arange(200 * width), np.arange(200 * width))
    assert stats.chisquare(np.bincount(many_values, minlength=width)).pvalue > 1e-6


@pytest.mark.parametrize("width", [2, *(pytest.param(w, marks=pytest.mark.slow) for w in (10, 64))])
def test_pairs_collide_with_probability_one_over_width(width: int) -> None:
    """Over functions and over keys; x and 3x, and neighbours, are where weaker hashes fail."""
    values = [1, 2, 3, 9, "a", "b"]
    over_functions = HashFamily(60_000, width, key=5).all(values)
    over_keys = np.array([HashFamily(1, width, key=k)(values, 0) for k in range(6_000)])
    for table in (over_functions, over_keys):
        for a, b in itertools.combinations(range(len(values)), 2):
            hits = int((table[:, a] == table[:, b]).sum())
            assert stats.binomtest(hits, len(table), 1 / width).pvalue > 1e-6 / 15


def test_three_values_are_independent_where_the_family_says_so() -> None:
    """All 4^3 (three-wise) and 2^4 (four-wise) joint outcomes are equally likely, for values in a line too."""
    for independence, width in ((3, 4), (4, 2)):
        table = HashFamily(100_000, width, key=8, independence=independence).all(np.arange(independence))
        joint = width ** np.arange(independence)[::-1] @ table.T
        counts = np.bincount(joint, minlength=width**independence)
        assert stats.chisquare(counts).pvalue > 1e-6


def test_every_function_spreads_a_small_domain() -> None:
    """A constant hash once spoiled a published table: P(all 26 letters in one bucket of 64) is 64^-25."""
    table = HashFamily(500, 64, key=3).all([chr(c) for c in range(97, 123)])
    assert (table.max(axis=1) > table.min(axis=1)).all()


# Arguments


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("n_functions", 0, InvalidArgument),
        ("n_functions", 2**63 + 1, InvalidArgument),
        ("n_functions", 2.0, InvalidType),
        ("width", 0, InvalidArgument),
        ("width", 1, InvalidArgument),
        ("width", -4, InvalidArgument),
        ("width", 2**32 + 1, InvalidArgument),
        ("width", 256.0, InvalidType),
        ("width", True, InvalidType),
        ("key", -1, InvalidArgument),
        ("key", 2**128, InvalidArgument),
        ("key", "seven", InvalidType),
        ("key", None, InvalidType),
        ("independence", 1, InvalidArgument),
        ("independence", 100, InvalidArgument),
        ("independence", "3", InvalidType),
    ],
)
def test_bad_parameters_are_named(name: str, value: object, kind: type[Exception]) -> None:
    arguments = {"n_functions": 4, "width": 8, "key": 7, "independence": 2, name: value}
    with pytest.raises(kind, match=rf"^{name} must be .*try {name}="):
        HashFamily(arguments.pop("n_functions"), arguments.pop("width"), **arguments)
    if name == "key":
        with pytest.raises(kind, match=r"^key must be"):
            fingerprint([1], value)


@pytest.mark.parametrize(
    "values",
    ["cat", b"cat", 3, None, {"a"}, {"a": 1}, np.array([1.5]), pa.array([1.5]), np.zeros((2, 2), int), pa.array([[1]])],
)
def test_columns_of_another_type_are_refused_without_quoting_them(values: object) -> None:
    with pytest.raises(InvalidArgument, match=r"^values must be") as caught:
        fingerprint(values, 7)
    assert "1.5" not in str(caught.value)


@pytest.mark.parametrize("index", [-1, 4, 1.0, "0", [0], [[0, 1]], [0.0, 1.0], ["0", "1"], True])
def test_bad_indices_are_named(index: object) -> None:
    with pytest.raises(InvalidArgument, match=r"^index must be"):
        HashFamily(4, 8, key=7)(["a", "b"], index)


def test_a_table_of_a_boundless_family_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"^stop must be at most"):
        HashFamily(2**63, 8, key=7).all(["a"])
    with pytest.raises(InvalidArgument, match=r"^stop must be"):
        HashFamily(8, 8, key=7).all(["a"], start=4, stop=3)


def test_a_duration_is_a_missing_value_and_no_error() -> None:
    """NumPy calls it an integer, and no single value may make a call fail."""
    assert fingerprint(["a", np.timedelta64(3, "s")], 7).tolist() == fingerprint(["a", None], 7).tolist()
