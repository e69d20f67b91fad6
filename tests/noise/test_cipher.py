"""The expanded stream: ChaCha20 against its published vectors, and the habits of every stream."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys

import numpy as np
import pytest

from discreet.noise import below, generator
from discreet.noise.stream.cipher import chacha20, expanded


def key_stream(key: bytes, counter: int, nonce: tuple[int, int], blocks: int) -> bytes:
    out = np.empty((blocks, 16), np.uint32)
    words = np.frombuffer(key, "<u4").astype(np.uint32)
    chacha20(words, counter, nonce, out)
    return out.astype("<u4").tobytes()


def test_published_vectors() -> None:
    """RFC 8439, 2.3.2 and A.1. Its nonce of 96 bits reaches into what is the counter's upper half here."""
    block = key_stream(bytes(range(32)), 1 | 0x09000000 << 32, (0x4A000000, 0), 1)
    assert block.hex() == (
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
    )
    first, second = key_stream(bytes(32), 0, (0, 0), 2)[:64], key_stream(bytes(32), 1, (0, 0), 1)
    assert first.hex() == (
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
    )
    assert second.hex() == (
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"
    )


def test_blocks_side_by_side_are_the_blocks_one_by_one() -> None:
    key = bytes(range(7, 39))
    for start in (0, 2**32 - 50):  # the counter crosses into its upper half
        together = key_stream(key, start, (0, 0), 200)
        assert together == b"".join(key_stream(key, start + i, (0, 0), 1) for i in range(200))


def test_the_stream_is_the_key_stream_of_32_bytes_of_the_other() -> None:
    one, two = generator(5), generator(5)
    key = one.bytes(32).tobytes()
    assert expanded(two).bytes(1000).tobytes() == key_stream(key, 0, (0, 0), 16)[:1000]
    assert one.bytes(8).tolist() == two.bytes(8).tolist()  # 32 bytes were taken, and no more


def test_the_stream_is_read_front_to_back() -> None:
    whole, parts = expanded(generator(3)), expanded(generator(3))
    wanted = whole.bytes(10_000).tobytes()
    assert b"".join(parts.bytes(n).tobytes() for n in (1, 63, 64, 65, 4096, 5711)) == wanted
    together, apart = expanded(generator(4)), expanded(generator(4))
    assert below(1000, size=500, rng=together).tolist() == [below(1000, rng=apart) for _ in range(500)]


def test_it_is_as_secure_or_as_seeded_as_what_it_expands() -> None:
    assert expanded(generator(1)).seeded
    assert not expanded(generator()).seeded
    assert expanded(generator()).bytes(32).tolist() != expanded(generator()).bytes(32).tolist()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_parent_and_child_draw_different_noise_after_a_fork() -> None:
    script = """if True:
        import os
        from discreet import noise
        from discreet.noise.stream.cipher import expanded
        shared = expanded(noise.generator())
        shared.bytes(1)
        read, write = os.pipe()
        if os.fork() == 0:
            os.write(write, shared.bytes(8192).tobytes())
            os._exit(0)
        child = os.read(read, 8192)
        os.wait()
        mine = shared.bytes(8192).tobytes()
        assert len(child) == 8192 and not any(child[i : i + 16] in mine for i in range(0, 8192, 16))
    """
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_bytes_are_even() -> None:
    """Chi-square over the 256 values, 5 standard deviations."""
    seen = np.bincount(expanded(generator(8)).bytes(1_000_000), minlength=256)
    statistic = ((seen - 1e6 / 256) ** 2 / (1e6 / 256)).sum()
    assert abs(statistic - 255) < 5 * (2 * 255) ** 0.5


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
def test_an_expanded_stream_takes_a_new_key_after_a_fork() -> None:
    stream = expanded(generator())
    stream.bytes(100)  # leaves a block that the child must not share
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=lambda: queue.put(stream.bytes(64).tobytes()))
    child.start()
    theirs = queue.get()
    child.join()
    assert stream.bytes(64).tobytes() != theirs
