"""The studio runs for days: memory that was freed goes back to the system."""

import platform
import subprocess
import sys

import pytest

_ASKED = """
import ctypes
from discreet.studio.serve import give_back

libc = ctypes.CDLL(None)
libc.malloc.argtypes, libc.malloc.restype, libc.free.argtypes = [ctypes.c_size_t], ctypes.c_void_p, [ctypes.c_void_p]

class Told(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks a b c d e f".split()]

libc.mallinfo2.restype = Told
GIVE
libc.free(libc.malloc(16 << 20))  # from here on glibc would keep what is smaller
before = libc.mallinfo2().hblks
libc.malloc(1 << 20)
print(libc.mallinfo2().hblks - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps it")
@pytest.mark.parametrize(("asked", "mapped"), [("give_back()", 1), ("", 0)])
def test_a_large_array_has_pages_of_its_own_after_larger_ones_were_freed(asked: str, mapped: int) -> None:
    told = subprocess.run(
        [sys.executable, "-c", _ASKED.replace("GIVE", asked)], capture_output=True, text=True, check=True
    )
    assert int(told.stdout) == mapped
