"""Where lampar's own libraries are, and where CUDA's wheels keep NVRTC and NCCL."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

_INSTALLED = Path(__file__).resolve().parents[4]  # PREFIX/share/lampar/python/lampar


def library(stem: str) -> str:
    """File of liblampar, liblampar-jit or liblampar-emu below LAMPAR_PREFIX, else below the prefix that
    this package is installed in."""
    prefix = os.environ.get("LAMPAR_PREFIX")
    root = Path(prefix) if prefix else _INSTALLED
    for pattern in (f"lib/{stem}.so*", f"lib/*/{stem}.so*", f"lib64/{stem}.so*"):
        found = sorted(root.glob(pattern))
        if found:
            return str(found[0])
    raise ImportError(
        f"{stem}.so is not below {root}/lib: "
        + ("LAMPAR_PREFIX names a folder without lampar" if prefix else "set LAMPAR_PREFIX to lampar's prefix")
    )


def _wheel_library(packages: tuple[str, ...], pattern: str) -> str | None:
    for name in packages:
        try:
            spec = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            continue
        for folder in spec.submodule_search_locations if spec else ():
            found = sorted(Path(folder).glob(f"lib/{pattern}"))
            if found:
                return str(found[-1])
    return None


def name_cuda_wheels() -> None:
    """Sets LAMPAR_NVRTC_LIBRARY and LAMPAR_NCCL_LIBRARY, where unset, to the files of NVIDIA's wheels.

    The loader does not search site-packages. A library that the process has loaded already wins: the
    C library looks there first only when the variable is unset, so nothing is set for it.
    """
    loaded = _loaded_libraries()
    for variable, packages, soname in (
        ("LAMPAR_NVRTC_LIBRARY", ("nvidia.cu13", "nvidia.cuda_nvrtc"), "libnvrtc.so"),
        ("LAMPAR_NCCL_LIBRARY", ("nvidia.nccl",), "libnccl.so"),
    ):
        if variable in os.environ or f"/{soname}" in loaded:
            continue
        path = _wheel_library(packages, f"{soname}.*")
        if path is not None:
            os.environ[variable] = path


def _loaded_libraries() -> str:
    try:
        return Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
