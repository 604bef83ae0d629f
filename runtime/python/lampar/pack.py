"""Packs: files of kernels, opened or made from a spec."""

from __future__ import annotations

import ctypes as C
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from . import _native
from .enums import Dtype, Granularity, Rounding
from .exchange import Bound, Exchange


@dataclass(frozen=True)
class OperandInfo:
    """An operand that an epilogue declares."""

    name: str
    dtype: Dtype
    granularity: Granularity
    output: bool
    group: int  # elements of a group; 0 unless per group


@dataclass(frozen=True)
class Kernel:
    """A kernel of a pack; the fields are those of lampar_kernel_info."""

    name: str
    arch: str
    algorithm: str
    world: int
    dtype: Dtype
    epilogue: str
    rounding: Rounding
    operands: tuple[OperandInfo, ...]
    hidden: int  # elements of a row; 0: any number of elements
    max_rows: int
    max_bytes: int
    persistent: bool
    threads: int
    cluster: int
    vectors_per_warp: int
    trigger: str
    watchdog_ms: int
    alignment: int  # bytes that pointers and row strides are multiples of; 0: any
    registers: int
    shared_bytes: int
    spill_bytes: int


@dataclass(frozen=True)
class BuildStats:
    """Where the kernels of a build came from."""

    kernels: int
    cached: int
    compiled: int
    received: int  # from other ranks
    seconds: float


def _kernel(info: _native.KernelInfo) -> Kernel:
    operands = tuple(
        OperandInfo(o.name.decode(), Dtype(o.dtype), Granularity(o.granularity), bool(o.output), o.group)
        for o in (pointer.contents for pointer in info.operands[: info.operand_count])
    )
    return Kernel(
        name=info.name.decode(), arch=info.arch.decode(), algorithm=info.algorithm.decode(),
        world=info.world, dtype=Dtype(info.dtype), epilogue=info.epilogue.decode(),
        rounding=Rounding(info.rounding), operands=operands, hidden=info.hidden,
        max_rows=info.max_rows, max_bytes=info.max_bytes, persistent=bool(info.persistent),
        threads=info.threads, cluster=info.cluster, vectors_per_warp=info.vectors_per_warp,
        trigger=info.trigger.decode(), watchdog_ms=info.watchdog_ms, alignment=info.alignment,
        registers=info.registers, shared_bytes=info.shared_bytes, spill_bytes=info.spill_bytes,
    )


class Pack:
    """Immutable: any number of groups and threads may share one. Close it after the last of them."""

    def __init__(self, handle: C.c_void_p, stats: BuildStats | None = None) -> None:
        self._handle, self.stats = handle, stats

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Pack:
        """Opens and checks a pack file. Raises SystemFailure, PackError, VersionError."""
        handle = C.c_void_p()
        _native.check(_native.blocking.lampar_pack_open(os.fsencode(path), C.byref(handle)))
        return cls(handle)

    @classmethod
    def build(cls, spec: str | os.PathLike[str], **options: object) -> Pack:
        """The kernels that a spec file has for a GPU: from the cache, else compiled with NVRTC.

        arch           "sm_90"; None: that of the thread's current CUDA context
        world          only kernels for that many ranks; 0: all of the spec
        threads        that compile; 0: one a core
        read_folders   folders of the cache that are only read
        write_folder   the one that is written; None: the default, "": none
        templates      folder of templates; None: those of the library
        exchange       of ranks that build together: every kernel is compiled on one of them
        progress       called as progress(done, total, name) after each compiled kernel; a true result
                       stops the build, and what it raises is raised from here

        Raises ArgumentError with file and line for a mistake in the spec, SystemFailure without NVRTC,
        NoKernelError where LAMPAR_DISABLE_JIT is set and the cache lacks a kernel.
        """
        return cls._build(
            lambda arch, native, out: _native.jit.lampar_jit_build(os.fsencode(spec), arch, native, out), **options
        )

    @classmethod
    def build_text(cls, text: str, *, name: str = "<python>", **options: object) -> Pack:
        """As build, for the text of a spec, which messages call `name`."""
        return cls._build(
            lambda arch, native, out: _native.jit.lampar_jit_build_text(
                text.encode(), name.encode(), arch, native, out
            ),
            **options,
        )

    @classmethod
    def _build(
        cls,
        run: Callable[..., int],
        *,
        arch: str | None = None,
        world: int = 0,
        threads: int = 0,
        read_folders: Sequence[str | os.PathLike[str]] = (),
        write_folder: str | os.PathLike[str] | None = None,
        templates: str | os.PathLike[str] | None = None,
        exchange: Exchange | None = None,
        progress: Callable[[int, int, str], object] | None = None,
    ) -> Pack:
        raised: list[BaseException] = []

        def report(_user: int, done: int, total: int, name: bytes) -> int:
            try:
                return 1 if progress is not None and progress(done, total, name.decode()) else 0
            except BaseException as error:
                raised.append(error)
                return 1

        bound = Bound(exchange) if exchange is not None else None
        folders = (C.c_char_p * len(read_folders))(*(os.fsencode(f) for f in read_folders))
        stats = _native.JitStats(C.sizeof(_native.JitStats))
        options = _native.JitOptions(
            size=C.sizeof(_native.JitOptions), world=world, threads=threads, read_folders=folders,
            read_folder_count=len(read_folders),
            write_folder=None if write_folder is None else os.fsencode(write_folder),
            templates=None if templates is None else os.fsencode(templates),
            progress=_native.PROGRESS(report), stats=C.pointer(stats),
        )
        if bound is not None:
            options.exchange = bound.native
        handle = C.c_void_p()
        status = run(None if arch is None else arch.encode(), C.byref(options), C.byref(handle))
        if status != 0 and raised:
            raise raised[0]
        if bound is not None:
            bound.check(status)
        _native.check(status)
        return cls(
            handle,
            BuildStats(stats.kernels, stats.cached, stats.compiled, stats.received, stats.nanoseconds / 1e9),
        )

    @property
    def handle(self) -> C.c_void_p:
        if not self._handle:
            raise ValueError("the pack is closed")
        return self._handle

    @property
    def name(self) -> str:
        return _native.hot.lampar_pack_name(self.handle).decode()

    @property
    def digest(self) -> str:
        """32 hexadecimal digits over the whole file."""
        return _native.hot.lampar_pack_digest(self.handle).decode()

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """In the order of the pack."""
        kernels = []
        for index in range(_native.hot.lampar_pack_count(self.handle)):
            info = _native.KernelInfo(C.sizeof(_native.KernelInfo))
            _native.check(_native.hot.lampar_pack_info(self.handle, index, C.byref(info)))
            kernels.append(_kernel(info))
        return tuple(kernels)

    def close(self) -> None:
        if self._handle:
            _native.hot.lampar_pack_close(self._handle)
            self._handle = C.c_void_p()

    def __enter__(self) -> Pack:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def spec(
    *,
    name: str,
    arch: Sequence[str],
    world: Sequence[int],
    dtype: Sequence[str],
    hidden: Sequence[int] = (),
    epilogue: Sequence[Sequence[str]] = ((),),
    **fields: object,
) -> str:
    """The Lua text of a spec for Pack.build_text. `fields` are any others of a spec: rows, rounding,
    weight_dtype, watchdog_ms, topology (a dict) and so on; the build checks them all."""
    table: dict[str, object] = {"name": name, "arch": arch, "world": world, "dtype": dtype}
    if hidden:
        table["hidden"] = hidden
    table["epilogue"] = [list(stages) for stages in epilogue]
    table.update(fields)
    return f"return spec {_lua(table)}\n"


def _lua(value: object) -> str:
    if isinstance(value, str):
        escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\u{{{ord(c):x}}}" for c in value)
        return f'"{escaped}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"[{_lua(str(k))}] = {_lua(v)}" for k, v in value.items()) + " }"
    if isinstance(value, Sequence):
        return "{ " + ", ".join(_lua(v) for v in value) + " }"
    raise TypeError(f"a spec has no value of type {type(value).__name__}: {value!r}")
