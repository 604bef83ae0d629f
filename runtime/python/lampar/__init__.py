"""lampar: all-reduce kernels for tensor-parallel decoding, made for exact shapes.

    pack = lampar.Pack.build("model.lua")
    group = lampar.Group([pack], exchange=...)
    group.all_reduce(x, x, rows=8, hidden=7168, dtype=lampar.Dtype.BF16, stream=stream)

Importing it imports neither torch nor numpy and does not touch a GPU.
"""

from . import _native
from .enums import Dtype, Granularity, LogLevel, Op, Path, Role, Rounding, Status
from .errors import (
    ArgumentError,
    Cancelled,
    CaptureError,
    DriverError,
    Error,
    Fault,
    Mismatch,
    NcclError,
    NoKernelError,
    PackError,
    RankTimeout,
    SystemFailure,
    VersionError,
)
from .exchange import Exchange, LocalExchange, TcpStoreExchange
from .group import Answer, Group, Operand, Stats
from .pack import BuildStats, Kernel, OperandInfo, Pack, spec

__version__ = _native.hot.lampar_version().decode()
