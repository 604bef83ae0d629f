"""lampar.h and lampar_jit.h as ctypes sees them. tests/python/layout_test.py compares both sides.

Two handles of one library: `hot` keeps the GIL during a call (PyDLL), `blocking` releases it (CDLL).
A hot call that released the GIL would wait for it on the way back: with one busy Python thread, 52 us
on average and 5 ms at worst. A blocking one that kept it would stop the ranks that are its threads.
"""

from __future__ import annotations

import ctypes as C

from . import _find
from .enums import Status
from .errors import CLASSES, Error, Fault, RankTimeout

_find.name_cuda_wheels()
blocking = C.CDLL(_find.library("liblampar"), mode=C.RTLD_GLOBAL)
hot = C.PyDLL(blocking._name, handle=blocking._handle)
jit = C.CDLL(_find.library("liblampar-jit"))

STATS_REASONS = 32

ALL_GATHER = C.CFUNCTYPE(C.c_int, C.c_void_p, C.c_void_p, C.c_void_p, C.c_size_t)
LOG = C.CFUNCTYPE(None, C.c_void_p, C.c_int, C.c_char_p)
PROGRESS = C.CFUNCTYPE(C.c_int, C.c_void_p, C.c_uint32, C.c_uint32, C.c_char_p)


class OperandInfo(C.Structure):
    _fields_ = [
        ("name", C.c_char * 24),
        ("dtype", C.c_uint32),
        ("granularity", C.c_uint32),
        ("output", C.c_uint32),
        ("group", C.c_uint32),
    ]


class KernelInfo(C.Structure):
    _fields_ = [
        ("size", C.c_size_t),
        ("name", C.c_char_p),
        ("arch", C.c_char_p),
        ("algorithm", C.c_char_p),
        ("world", C.c_int),
        ("dtype", C.c_int),
        ("epilogue", C.c_char_p),
        ("rounding", C.c_int),
        ("operands", C.POINTER(C.POINTER(OperandInfo))),
        ("operand_count", C.c_uint32),
        ("hidden", C.c_uint32),
        ("max_rows", C.c_uint32),
        ("max_bytes", C.c_uint64),
        ("persistent", C.c_int),
        ("threads", C.c_uint32),
        ("cluster", C.c_uint32),
        ("vectors_per_warp", C.c_uint32),
        ("trigger", C.c_char_p),
        ("watchdog_ms", C.c_uint32),
        ("alignment", C.c_uint32),
        ("registers", C.c_uint32),
        ("shared_bytes", C.c_uint32),
        ("spill_bytes", C.c_uint32),
        ("code", C.c_void_p),
        ("code_size", C.c_size_t),
    ]


class Exchange(C.Structure):
    _fields_ = [
        ("size", C.c_size_t),
        ("rank", C.c_int),
        ("world", C.c_int),
        ("all_gather", ALL_GATHER),
        ("user", C.c_void_p),
    ]


class GroupConfig(C.Structure):
    _fields_ = [
        ("size", C.c_size_t),
        ("enable", C.c_int),
        ("role", C.c_int),
        ("contains_expert_parallelism", C.c_int),
        ("max_rows", C.c_uint32),
        ("workspace_limit", C.c_uint64),
        ("lanes", C.c_uint32),
        ("strict", C.c_int),
        ("programmatic_launch", C.c_int),
        ("watchdog_ms", C.c_uint32),
        ("setup_timeout_ms", C.c_uint32),
        ("kernels", C.c_char_p),
        ("exchange", C.POINTER(Exchange)),
        ("log", LOG),
        ("log_user", C.c_void_p),
    ]


class Operand(C.Structure):
    _fields_ = [
        ("name", C.c_char_p),
        ("data", C.c_void_p),
        ("stride", C.c_uint64),
        ("dtype", C.c_int),
        ("value", C.c_float),
    ]


class Call(C.Structure):
    _fields_ = [
        ("size", C.c_size_t),
        ("input", C.c_void_p),
        ("output", C.c_void_p),
        ("rows", C.c_uint64),
        ("hidden", C.c_uint64),
        ("input_stride", C.c_uint64),
        ("output_stride", C.c_uint64),
        ("dtype", C.c_int),
        ("op", C.c_int),
        ("lane", C.c_uint32),
        ("rounding", C.c_int),
        ("epilogue", C.c_char_p),
        ("operands", C.POINTER(Operand)),
        ("operand_count", C.c_uint32),
        ("operand_size", C.c_size_t),
    ]


class Answer(C.Structure):
    _fields_ = [
        ("size", C.c_size_t),
        ("path", C.c_int),
        ("kernel", C.c_char_p),
        ("reason", C.c_int),
        ("message", C.c_char_p),
    ]


class FaultRecord(C.Structure):
    _fields_ = [
        ("size", C.c_size_t),
        ("rank", C.c_int),
        ("source", C.c_int),
        ("missing", C.c_uint32),
        ("mailbox", C.c_uint32),
        ("epoch", C.c_uint32),
        ("kernel", C.c_char_p),
    ]


class Stats(C.Structure):
    _fields_ = [
        ("size", C.c_size_t),
        ("kernel_calls", C.c_uint64),
        ("kernel_bytes", C.c_uint64),
        ("nccl_calls", C.c_uint64 * STATS_REASONS),
        ("nccl_bytes", C.c_uint64),
    ]


class JitStats(C.Structure):
    _fields_ = [
        ("size", C.c_size_t),
        ("kernels", C.c_uint32),
        ("cached", C.c_uint32),
        ("compiled", C.c_uint32),
        ("received", C.c_uint32),
        ("nanoseconds", C.c_uint64),
    ]


class JitOptions(C.Structure):
    _fields_ = [
        ("size", C.c_size_t),
        ("world", C.c_int),
        ("threads", C.c_uint32),
        ("read_folders", C.POINTER(C.c_char_p)),
        ("read_folder_count", C.c_size_t),
        ("write_folder", C.c_char_p),
        ("templates", C.c_char_p),
        ("progress", PROGRESS),
        ("progress_user", C.c_void_p),
        ("exchange", C.POINTER(Exchange)),
        ("comm", C.c_void_p),
        ("log", LOG),
        ("log_user", C.c_void_p),
        ("stats", C.POINTER(JitStats)),
    ]


def _declare(library: C.CDLL, name: str, result: object, *arguments: object) -> None:
    function = getattr(library, name)
    function.restype, function.argtypes = result, list(arguments)


_handle, _out, _size = C.c_void_p, C.POINTER(C.c_void_p), C.c_size_t

# Quick, and without a wait for other threads or ranks: with the GIL.
for _name, _result, _arguments in (
    ("lampar_all_reduce", C.c_int, (_handle, C.POINTER(Call), C.c_void_p)),
    ("lampar_query", C.c_int, (_handle, C.POINTER(Call), C.POINTER(Answer))),
    ("lampar_group_error", C.c_int, (_handle, C.POINTER(FaultRecord))),
    ("lampar_group_stats", C.c_int, (_handle, C.POINTER(Stats))),
    ("lampar_group_report", C.c_char_p, (_handle,)),
    ("lampar_group_rank", C.c_int, (_handle,)),
    ("lampar_group_world", C.c_int, (_handle,)),
    ("lampar_group_workspace_bytes", C.c_uint64, (_handle,)),
    ("lampar_pack_count", _size, (_handle,)),
    ("lampar_pack_info", C.c_int, (_handle, _size, C.POINTER(KernelInfo))),
    ("lampar_pack_name", C.c_char_p, (_handle,)),
    ("lampar_pack_digest", C.c_char_p, (_handle,)),
    ("lampar_pack_close", None, (_handle,)),
    ("lampar_last_error", C.c_char_p, ()),
    ("lampar_status_string", C.c_char_p, (C.c_int,)),
    ("lampar_reason_string", C.c_char_p, (C.c_int,)),
    ("lampar_version", C.c_char_p, ()),
):
    _declare(hot, _name, _result, *_arguments)

# Collective, slow, or calling back: without it.
for _library, _name, _result, _arguments in (
    (blocking, "lampar_group_create", C.c_int,
     (_out, C.c_void_p, _out, _size, C.POINTER(GroupConfig))),
    (blocking, "lampar_group_destroy", C.c_int, (_handle,)),
    (blocking, "lampar_pack_open", C.c_int, (C.c_char_p, _out)),
    (blocking, "lampar_pack_open_memory", C.c_int, (C.c_void_p, _size, C.c_char_p, _out)),
    (blocking, "lampar_local_exchange_create", C.c_int, (C.c_int, C.c_uint32, _out)),
    (blocking, "lampar_local_exchange_rank", C.POINTER(Exchange), (_handle, C.c_int)),
    (blocking, "lampar_local_exchange_destroy", None, (_handle,)),
    (jit, "lampar_jit_build", C.c_int, (C.c_char_p, C.c_char_p, C.POINTER(JitOptions), _out)),
    (jit, "lampar_jit_build_text", C.c_int,
     (C.c_char_p, C.c_char_p, C.c_char_p, C.POINTER(JitOptions), _out)),
):
    _declare(_library, _name, _result, *_arguments)


def failure(status: int) -> Error:
    """The exception for a status, with the message of this thread's last error."""
    known = Status(status)
    error = CLASSES[known](hot.lampar_last_error().decode(errors="replace"))
    error.status = known
    return error


def check(status: int) -> None:
    if status != 0:
        raise failure(status)


def check_group(group: C.c_void_p, status: int) -> None:
    """As check; a timeout also says for whom the group's kernel waited."""
    if status == 0:
        return
    error = failure(status)
    if isinstance(error, RankTimeout):
        record = FaultRecord(C.sizeof(FaultRecord))
        if hot.lampar_group_error(group, C.byref(record)) == Status.TIMEOUT:
            error.fault = Fault(
                record.rank, record.source, record.missing, record.mailbox, record.epoch,
                (record.kernel or b"").decode(),
            )
    raise error
