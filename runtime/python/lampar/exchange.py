"""How ranks exchange a few hundred bytes while a group or a pack is made."""

from __future__ import annotations

import ctypes as C
from typing import Protocol

from . import _native


class Exchange(Protocol):
    """Anything with these three: torch's gloo group behind an adapter, MPI, a TCPStore, threads."""

    rank: int
    world: int

    def all_gather(self, mine: bytes) -> bytes:
        """Collective: world * len(mine) bytes, those of all ranks in rank order. May raise."""
        ...


class LocalExchange:
    """An exchange between threads of this process, one thread a rank.

    A rank that does not arrive within `timeout` seconds makes the others' call fail. Keep the object
    until the last group that was made over it is destroyed.
    """

    def __init__(self, world: int, timeout: float = 30.0) -> None:
        self._handle = C.c_void_p()
        self.world = world
        _native.check(
            _native.blocking.lampar_local_exchange_create(world, int(timeout * 1000), C.byref(self._handle))
        )

    def rank(self, rank: int) -> LocalRank:
        if not self._handle:
            raise ValueError("the exchange is closed")
        if not 0 <= rank < self.world:
            raise ValueError(f"rank {rank} is not in 0 .. {self.world - 1}")
        return LocalRank(self, rank)

    def close(self) -> None:
        if self._handle:
            _native.blocking.lampar_local_exchange_destroy(self._handle)
            self._handle = C.c_void_p()

    def __enter__(self) -> LocalExchange:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class LocalRank:
    """One rank's end of a LocalExchange."""

    def __init__(self, exchange: LocalExchange, rank: int) -> None:
        self._exchange = exchange
        self._native = _native.blocking.lampar_local_exchange_rank(exchange._handle, rank)
        self.rank, self.world = rank, exchange.world

    def all_gather(self, mine: bytes) -> bytes:
        all_ranks = C.create_string_buffer(len(mine) * self.world)
        if self._native.contents.all_gather(self._native.contents.user, mine, all_ranks, len(mine)) != 0:
            raise TimeoutError(f"rank {self.rank}: another rank did not arrive at the exchange")
        return all_ranks.raw


class TcpStoreExchange:
    """An exchange over a key-value store with set(key, bytes) and a blocking get(key), as torch's TCPStore.

    `prefix` keeps the keys of several exchanges apart.
    """

    def __init__(self, store: object, rank: int, world: int, prefix: str = "lampar") -> None:
        self._store, self.rank, self.world, self._prefix = store, rank, world, prefix
        self._step = 0

    def all_gather(self, mine: bytes) -> bytes:
        self._step += 1
        base = f"{self._prefix}/{self._step}"
        self._store.set(f"{base}/{self.rank}", bytes(mine))
        return b"".join(bytes(self._store.get(f"{base}/{r}")) for r in range(self.world))


class Bound:
    """An exchange as the C library takes it. Keeps the callback alive, and what it raised."""

    def __init__(self, exchange: Exchange) -> None:
        self.raised: BaseException | None = None
        self._exchange = exchange
        if isinstance(exchange, LocalRank):
            self.native = exchange._native
            return
        self._callback = _native.ALL_GATHER(self._all_gather)
        self.native = C.pointer(
            _native.Exchange(C.sizeof(_native.Exchange), exchange.rank, exchange.world, self._callback, None)
        )

    def _all_gather(self, _user: int, mine: int, all_ranks: int, size: int) -> int:
        # An exception must not pass through C: it is raised again once the call has returned.
        try:
            gathered = self._exchange.all_gather(C.string_at(mine, size))
            expected = size * self._exchange.world
            if len(gathered) != expected:
                raise ValueError(f"all_gather returned {len(gathered)} bytes; {expected} are expected")
            C.memmove(all_ranks, bytes(gathered), expected)
            return 0
        except BaseException as error:
            self.raised = error
            return 1

    def check(self, status: int) -> None:
        """Raises what the exchange raised during a call, else what the call's status stands for."""
        raised, self.raised = self.raised, None
        if status != 0 and raised is not None:
            raise raised
        _native.check(status)
