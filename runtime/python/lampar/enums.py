"""The enumerations of lampar.h, with its values."""

from enum import IntEnum


class Status(IntEnum):
    OK = 0
    ARGUMENT = 1
    SYSTEM = 2
    PACK = 3
    VERSION = 4
    DRIVER = 5
    NCCL = 6
    NO_KERNEL = 7
    CAPTURE = 8
    TIMEOUT = 9
    CANCELLED = 10
    MISMATCH = 11


class Dtype(IntEnum):
    """Element types. Kernels exist for the first three; NCCL reduces the others."""

    BF16 = 0
    F16 = 1
    F32 = 2
    F64 = 3
    I8 = 4
    U8 = 5
    I32 = 6
    U32 = 7
    I64 = 8
    U64 = 9
    F8E4M3 = 10
    F8E5M2 = 11
    F4E2M1X2 = 12


class Op(IntEnum):
    SUM = 0
    PROD = 1
    MAX = 2
    MIN = 3
    AVG = 4


class Rounding(IntEnum):
    """Where a fused kernel rounds to the dtype: after every stage, or only where it stores."""

    UNFUSED = 0
    FP32 = 1


class Granularity(IntEnum):
    """What an operand of an epilogue holds, for `rows` rows of `hidden` elements."""

    ELEMENT = 0
    COLUMN = 1
    ROW = 2
    TENSOR = 3
    GROUP = 4
    CALL = 5


class Path(IntEnum):
    KERNEL = 0
    NCCL = 1


class Role(IntEnum):
    DENSE = 0
    ATTENTION = 1
    MOE = 2


class LogLevel(IntEnum):
    NONE = 0
    WARN = 1
    INFO = 2
    TRACE = 3
