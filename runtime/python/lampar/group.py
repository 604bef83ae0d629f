"""Groups: ranks that reduce together."""

from __future__ import annotations

import ctypes as C
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from . import _native
from .enums import Dtype, LogLevel, Op, Path, Role, Rounding
from .exchange import Bound, Exchange, LocalRank
from .pack import Pack


@dataclass(frozen=True)
class Answer:
    """What would happen to a call."""

    path: Path
    kernel: str | None
    reason: int  # lampar_reason; 0 for a kernel
    message: str


@dataclass(frozen=True)
class Stats:
    """Counters since creation. Replays of a CUDA graph do not pass through the library."""

    kernel_calls: int
    kernel_bytes: int
    nccl_calls: Mapping[str, int]  # by the reason's text; only those that occurred
    nccl_bytes: int


def pointer(memory: object) -> int | None:
    """Device address of an int, a tensor (data_ptr) or an array (__cuda_array_interface__)."""
    if memory is None or isinstance(memory, int):
        return memory
    data_ptr = getattr(memory, "data_ptr", None)
    if data_ptr is not None:
        return data_ptr()
    interface = getattr(memory, "__cuda_array_interface__", None)
    if interface is not None:
        return interface["data"][0]
    raise TypeError(
        f"{type(memory).__name__} is not device memory: give an address, or an object with data_ptr() or "
        "__cuda_array_interface__"
    )


def stream_handle(stream: object) -> int | None:
    """CUstream of an int, or of an object with __cuda_stream__ or cuda_stream."""
    if stream is None or isinstance(stream, int):
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return (protocol() if callable(protocol) else protocol)[1]
    handle = getattr(stream, "cuda_stream", None)
    if handle is not None:
        return handle
    raise TypeError(f"{type(stream).__name__} is not a CUDA stream: give its handle as an int")


@dataclass(frozen=True)
class Operand:
    """An operand of a call's epilogue: device memory of `dtype`, or, per call, a number."""

    name: str
    data: object = None
    dtype: Dtype = Dtype.F32
    stride: int = 0  # elements from a row to the next; 0: no gaps
    value: float = 0.0


class Group:
    """One rank of a set of ranks that reduce together, on the thread's current CUDA context.

    Creation and destroy are collective and block; do both outside of graph captures. One thread at a
    time may use a group. Destroy it after every graph that holds its calls; a group that is collected
    without destroy stays allocated and warns, because the other ranks would wait.

    packs           kernels; they must stay open until destroy
    exchange        how the ranks meet; None: over `nccl`
    nccl            ncclComm_t as an int, for calls that no kernel takes; None: such a call raises
                    NoKernelError
    watchdog        timeout of a kernel's wait for other ranks in seconds; None: the pack's
    setup_timeout   timeout of each wait over `nccl` during creation and destroy in seconds; None: two
                    minutes
    kernels         a glob: only kernels whose name matches are used; None: LAMPAR_KERNEL, else all
    log             called as log(level, line); None: standard error, as LAMPAR_DEBUG says

    The other arguments are the fields of lampar_group_config. Raises ArgumentError, SystemFailure,
    DriverError, NcclError, CaptureError, RankTimeout, and what the exchange raises.
    """

    def __init__(
        self,
        packs: Sequence[Pack],
        *,
        exchange: Exchange | LocalRank | None = None,
        nccl: int | None = None,
        enable: bool = True,
        role: Role = Role.DENSE,
        contains_expert_parallelism: bool = False,
        max_rows: int = 0,
        workspace_limit: int = 0,
        lanes: int = 1,
        strict: bool = False,
        programmatic_launch: bool = False,
        watchdog: float | None = None,
        setup_timeout: float | None = None,
        kernels: str | None = None,
        log: Callable[[LogLevel, str], None] | None = None,
    ) -> None:
        self._handle = C.c_void_p()
        self._packs = tuple(packs)
        self._bound = Bound(exchange) if exchange is not None else None
        self._log = _native.LOG(_line_to(log)) if log is not None else _native.LOG()
        config = _native.GroupConfig(
            size=C.sizeof(_native.GroupConfig), enable=enable, role=role,
            contains_expert_parallelism=contains_expert_parallelism, max_rows=max_rows,
            workspace_limit=workspace_limit, lanes=lanes, strict=strict,
            programmatic_launch=programmatic_launch,
            watchdog_ms=_milliseconds(watchdog), setup_timeout_ms=_milliseconds(setup_timeout),
            kernels=None if kernels is None else kernels.encode(), log=self._log,
        )
        if self._bound is not None:
            config.exchange = self._bound.native
        handles = (C.c_void_p * len(self._packs))(*(p.handle for p in self._packs))
        self._checked(
            _native.blocking.lampar_group_create(
                C.byref(self._handle), nccl, handles, len(self._packs), C.byref(config)
            )
        )

    def _checked(self, status: int) -> None:
        if self._bound is not None:
            self._bound.check(status)
        _native.check(status)

    @property
    def handle(self) -> C.c_void_p:
        if not self._handle:
            raise ValueError("the group is destroyed")
        return self._handle

    @property
    def rank(self) -> int:
        return _native.hot.lampar_group_rank(self.handle)

    @property
    def world(self) -> int:
        return _native.hot.lampar_group_world(self.handle)

    @property
    def workspace_bytes(self) -> int:
        """Device memory that the group holds on this rank."""
        return _native.hot.lampar_group_workspace_bytes(self.handle)

    @property
    def report(self) -> str:
        """A few lines: ranks, devices, kernels, workspace, or why every call goes to NCCL."""
        return _native.hot.lampar_group_report(self.handle).decode()

    def query(
        self,
        rows: int,
        hidden: int,
        dtype: Dtype,
        *,
        epilogue: str = "",
        rounding: Rounding = Rounding.UNFUSED,
        op: Op = Op.SUM,
    ) -> Answer:
        """What all_reduce would do with such a call, the same on every rank. Does nothing else."""
        call = _native.Call(
            size=C.sizeof(_native.Call), rows=rows, hidden=hidden, dtype=dtype, op=op,
            rounding=rounding, epilogue=epilogue.encode(),
        )
        answer = _native.Answer(C.sizeof(_native.Answer))
        _native.check(_native.hot.lampar_query(self.handle, C.byref(call), C.byref(answer)))
        kernel = None if answer.kernel is None else answer.kernel.decode()
        return Answer(Path(answer.path), kernel, answer.reason, answer.message.decode())

    def all_reduce(
        self,
        input: object,
        output: object,
        *,
        rows: int,
        hidden: int,
        dtype: Dtype,
        stream: object,
        input_stride: int = 0,
        output_stride: int = 0,
        epilogue: str = "",
        operands: Sequence[Operand] = (),
        rounding: Rounding = Rounding.UNFUSED,
        op: Op = Op.SUM,
        lane: int = 0,
    ) -> None:
        """Enqueues output = sum over ranks of input, then the epilogue, on `stream`.

        input, output   `rows` x `hidden` elements of `dtype` in device memory: addresses, or objects
                        with data_ptr() or __cuda_array_interface__; output may be input, and None when
                        the epilogue stores its result in an operand
        strides         elements from a row to the next; 0: no gaps
        stream          CUstream as an int, or an object with __cuda_stream__; None: the default stream

        The sum is fp32 in rank order, rounded once to nearest even. The memory must stay allocated
        until the stream has done the call. Raises ArgumentError, NoKernelError, CaptureError,
        RankTimeout, DriverError, NcclError.
        """
        call = _native.Call(
            size=C.sizeof(_native.Call), input=pointer(input), output=pointer(output), rows=rows,
            hidden=hidden, input_stride=input_stride, output_stride=output_stride, dtype=dtype, op=op,
            lane=lane, rounding=rounding, epilogue=epilogue.encode(),
        )
        if operands:
            call.operands = (_native.Operand * len(operands))(
                *(
                    _native.Operand(o.name.encode(), pointer(o.data), o.stride, o.dtype, o.value)
                    for o in operands
                )
            )
            call.operand_count = len(operands)
            call.operand_size = C.sizeof(_native.Operand)
        _native.check_group(
            self.handle, _native.hot.lampar_all_reduce(self.handle, C.byref(call), stream_handle(stream))
        )

    def stats(self) -> Stats:
        stats = _native.Stats(C.sizeof(_native.Stats))
        _native.check(_native.hot.lampar_group_stats(self.handle, C.byref(stats)))
        calls = {
            _native.hot.lampar_reason_string(reason).decode(): count
            for reason, count in enumerate(stats.nccl_calls)
            if count
        }
        return Stats(stats.kernel_calls, stats.kernel_bytes, calls, stats.nccl_bytes)

    def check(self) -> None:
        """Raises RankTimeout, with its fault, if a kernel's wait for other ranks timed out."""
        _native.check_group(self.handle, _native.hot.lampar_group_error(self.handle, None))

    def destroy(self) -> None:
        """Collective; waits for the group's work. A second destroy does nothing."""
        if self._handle:
            handle, self._handle = self._handle, C.c_void_p()
            self._checked(_native.blocking.lampar_group_destroy(handle))

    def __enter__(self) -> Group:
        return self

    def __exit__(self, *_: object) -> None:
        self.destroy()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            warnings.warn(
                "a lampar.Group was not destroyed: call destroy() on every rank", ResourceWarning, stacklevel=2
            )
            _undestroyed.append((self._bound, self._log, self._packs))


def _milliseconds(seconds: float | None) -> int:
    """0 stands for the default."""
    return 0 if seconds is None else max(1, round(seconds * 1000))


# What the C library still refers to, of groups that were never destroyed.
_undestroyed: list[object] = []


def _line_to(log: Callable[[LogLevel, str], None]) -> Callable[[int, int, bytes], None]:
    def write(_user: int, level: int, line: bytes) -> None:
        log(LogLevel(level), line.decode(errors="replace"))

    return write
