"""Ranks as threads on the emulated device, and bf16 without numpy: what the tests share."""

import os
import struct
import threading

os.environ["LAMPAR_DEVICE"] = "emu"

import lampar  # noqa: E402
from lampar import emulated  # noqa: E402


def run(world, function, timeout=30.0):
    """function(rank, device, end of a LocalExchange) on every rank at once; results in rank order."""
    results, errors = [None] * world, [None] * world
    with lampar.LocalExchange(world, timeout) as exchange:

        def body(rank):
            try:
                results[rank] = function(rank, emulated.Device(rank), exchange.rank(rank))
            except BaseException as error:
                errors[rank] = error

        threads = [threading.Thread(target=body, args=(rank,)) for rank in range(world)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for error in errors:
        if error is not None:
            raise error
    return results


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def to_bf16(value):
    """Bits of a finite number, rounded to nearest even."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF


def from_bf16(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def fold(ranks):
    """The sum of the ranks' bf16 values in rank order, in fp32, rounded once."""
    sums = []
    for column in zip(*ranks):
        total = from_bf16(column[0])
        for bits in column[1:]:
            total = f32(total + from_bf16(bits))
        sums.append(to_bf16(total))
    return sums


def store(buffer, values):
    buffer.memory[: 2 * len(values)] = struct.pack(f"<{len(values)}H", *values)


def load(buffer, count):
    return list(struct.unpack(f"<{count}H", buffer.memory[: 2 * count]))
