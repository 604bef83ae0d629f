"""The emulated device from Python, for tests without a GPU.

Set LAMPAR_DEVICE=emu before the first group is created. Emulated device memory is host memory, so a
buffer's bytes can be read and written in place, and numpy arrays and torch CPU tensors can alias it.
"""

from __future__ import annotations

import ctypes as C

from . import _find

_STREAM_NON_BLOCKING = 1


class DriverFailure(RuntimeError):
    """A driver call of the emulated device that failed."""


class Device:
    """One emulated device, current on the thread that makes it, with a stream."""

    def __init__(self, ordinal: int) -> None:
        self._driver = C.CDLL(_find.library("liblampar-emu"))
        device, self._context, self._stream = C.c_int(), C.c_void_p(), C.c_void_p()
        self._ordinal = ordinal
        self._call("cuInit", C.c_uint(0))
        self._call("cuDeviceGet", C.byref(device), C.c_int(ordinal))
        self._call("cuDevicePrimaryCtxRetain", C.byref(self._context), device)
        self._call("cuCtxSetCurrent", self._context)
        self._call("cuStreamCreate", C.byref(self._stream), C.c_uint(_STREAM_NON_BLOCKING))

    def _call(self, name: str, *arguments: object) -> None:
        result = getattr(self._driver, name)(*arguments)
        if result != 0:
            raise DriverFailure(f"{name} on emulated device {self._ordinal} returned {result}")

    @property
    def stream(self) -> int:
        """CUstream, for Group.all_reduce."""
        return self._stream.value or 0

    def buffer(self, size: int) -> Buffer:
        address = C.c_uint64()
        self._call("cuMemAlloc_v2", C.byref(address), C.c_size_t(size))
        return Buffer(address.value, size)

    def synchronize(self) -> None:
        """Waits for the stream's work."""
        self._call("cuStreamSynchronize", self._stream)


class Buffer:
    """Emulated device memory. It stays allocated until the process ends."""

    def __init__(self, address: int, size: int) -> None:
        self._address = address
        self.memory = memoryview((C.c_uint8 * size).from_address(address)).cast("B")

    def data_ptr(self) -> int:
        return self._address
