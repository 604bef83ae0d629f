"""An exception class for each status of lampar.h."""

from __future__ import annotations

from dataclasses import dataclass

from .enums import Status


class Error(RuntimeError):
    """A call that failed. The text is lampar_last_error(): what failed, where, and what to do."""

    status: Status


class ArgumentError(Error, ValueError):
    status = Status.ARGUMENT


class SystemFailure(Error, OSError):
    """Memory, files or threads."""

    status = Status.SYSTEM


class PackError(Error):
    """A pack that is damaged, or a file that is not a pack."""

    status = Status.PACK


class VersionError(PackError):
    """A pack of a format that this library does not read."""

    status = Status.VERSION


class DriverError(Error):
    status = Status.DRIVER


class NcclError(Error):
    status = Status.NCCL


class NoKernelError(Error):
    """A strict group, or a group without a communicator, has no kernel for a call."""

    status = Status.NO_KERNEL


class CaptureError(Error):
    status = Status.CAPTURE


@dataclass(frozen=True)
class Fault:
    """What a kernel recorded when its wait for other ranks timed out."""

    rank: int  # that waited
    source: int  # lowest rank that did not arrive
    missing: int  # all of them: bit r is rank r
    mailbox: int
    epoch: int
    kernel: str


class RankTimeout(Error, TimeoutError):
    """A rank did not arrive in time. `fault` says for whom a kernel waited; None outside kernels."""

    status = Status.TIMEOUT
    fault: Fault | None = None


class Cancelled(Error):
    """A progress function stopped a build."""

    status = Status.CANCELLED


class Mismatch(Error):
    """A result differs from the reference computed on the host."""

    status = Status.MISMATCH


CLASSES: dict[Status, type[Error]] = {
    cls.status: cls
    for cls in (
        ArgumentError,
        SystemFailure,
        PackError,
        VersionError,
        DriverError,
        NcclError,
        NoKernelError,
        CaptureError,
        RankTimeout,
        Cancelled,
        Mismatch,
    )
}
