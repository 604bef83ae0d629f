"""The mirror of the headers in lampar._native: layouts, enumerations, functions, one class per status."""

import ctypes as C
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import ranks  # noqa: F401
import lampar
from lampar import _native, enums, errors

SOURCE = Path(__file__).resolve().parents[2]
INCLUDE = SOURCE / "runtime" / "include"
HEADERS = [(INCLUDE / "lampar" / name).read_text() for name in ("lampar.h", "lampar_jit.h")]

STRUCTS = {
    "lampar_operand_info": _native.OperandInfo,
    "lampar_kernel_info": _native.KernelInfo,
    "lampar_exchange": _native.Exchange,
    "lampar_group_config": _native.GroupConfig,
    "lampar_operand": _native.Operand,
    "lampar_call": _native.Call,
    "lampar_answer": _native.Answer,
    "lampar_fault": _native.FaultRecord,
    "lampar_stats": _native.Stats,
    "lampar_jit_stats": _native.JitStats,
    "lampar_jit_options": _native.JitOptions,
}
ENUMS = {
    "STATUS": None,  # LAMPAR_OK and LAMPAR_ERROR_*, below
    "ROUNDING": enums.Rounding,
    "GRANULARITY": enums.Granularity,
    "PATH": enums.Path,
    "ROLE": enums.Role,
    "LOG": enums.LogLevel,
}


def c_layout():
    """(offset, size) of every field, and the size of every struct, as the C compiler has them."""
    lines = ['#include <stddef.h>', '#include <stdio.h>', '#include "lampar/lampar_jit.h"', "int main(void) {"]
    for name, mirror in STRUCTS.items():
        lines.append(f'  printf("{name} %zu 0\\n", sizeof({name}));')
        for field, *_ in mirror._fields_:
            lines.append(
                f'  printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), '
                f"sizeof((({name} *)0)->{field}));"
            )
    lines.append("  return 0;\n}\n")
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "layout.c"), Path(folder, "layout")
        source.write_text("\n".join(lines))
        compiler = os.environ.get("CC", "cc")
        subprocess.run([compiler, "-std=c17", f"-I{INCLUDE}", source, "-o", program], check=True)
        output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return {name: (int(first), int(second)) for name, first, second in map(str.split, output.splitlines())}


def enumerators(prefix):
    text = re.sub(r"/\*.*?\*/", "", HEADERS[0], flags=re.S)
    return {name: int(value) for name, value in re.findall(rf"\b{prefix}([A-Z0-9_]+)\s*=\s*(\d+)", text)}


class Layout(unittest.TestCase):
    def test_structs(self):
        layout = c_layout()
        for name, mirror in STRUCTS.items():
            self.assertEqual(C.sizeof(mirror), layout[name][0], name)
            for field, *_ in mirror._fields_:
                descriptor = getattr(mirror, field)
                self.assertEqual((descriptor.offset, descriptor.size), layout[f"{name}.{field}"], f"{name}.{field}")

    def test_every_struct_with_a_size_is_mirrored(self):
        for header in HEADERS:
            for name in re.findall(r"^} (lampar_\w+);", header, flags=re.M):
                self.assertTrue(name in STRUCTS or self.is_enum(name), name)

    @staticmethod
    def is_enum(name):
        return any(f"typedef enum {name} " in header for header in HEADERS)

    def test_enumerations(self):
        for prefix, mirror in ENUMS.items():
            if mirror is not None:
                self.assertEqual(enumerators(f"LAMPAR_{prefix}_"), dict(mirror.__members__), prefix)
        self.assertEqual({"OK": 0} | enumerators("LAMPAR_ERROR_"), dict(enums.Status.__members__))
        listed = re.search(r"typedef enum lampar_dtype {(.*?)}", HEADERS[0], flags=re.S).group(1)
        self.assertEqual(
            {name: int(value) for name, value in re.findall(r"LAMPAR_(\w+) = (\d+)", listed)},
            dict(enums.Dtype.__members__),
        )
        listed = re.search(r"typedef enum lampar_op {(.*?)}", HEADERS[0], flags=re.S).group(1)
        self.assertEqual(
            {name: int(value) for name, value in re.findall(r"LAMPAR_(\w+) = (\d+)", listed)},
            dict(enums.Op.__members__),
        )

    def test_an_exception_for_every_status(self):
        for status in enums.Status:
            if status != enums.Status.OK:
                self.assertEqual(errors.CLASSES[status].status, status)
                self.assertTrue(hasattr(lampar, errors.CLASSES[status].__name__))

    def test_every_exported_function_is_declared(self):
        for header in HEADERS:
            for name in re.findall(r"LAMPAR_API [^;(]*?\b(lampar_\w+)\(", header):
                declared = [
                    library for library in (_native.hot, _native.blocking, _native.jit)
                    if name in library.__dict__
                ]
                self.assertEqual(len(declared), 1, name)
                self.assertIsNotNone(getattr(declared[0], name).argtypes, name)

    def test_hot_calls_keep_the_gil(self):
        self.assertIsInstance(_native.hot, C.PyDLL)
        for name in ("lampar_all_reduce", "lampar_query"):
            self.assertIn(name, _native.hot.__dict__)
        for name in ("lampar_group_create", "lampar_group_destroy"):
            self.assertIn(name, _native.blocking.__dict__)
        self.assertNotIsInstance(_native.blocking, C.PyDLL)


class Import(unittest.TestCase):
    def test_brings_neither_torch_nor_numpy(self):
        code = "import sys, lampar; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
        self.assertEqual(subprocess.run(["python3", "-c", code]).returncode, 0)

    def test_a_prefix_without_lampar(self):
        environment = dict(os.environ, LAMPAR_PREFIX="/absent")
        failed = subprocess.run(["python3", "-c", "import lampar"], env=environment, capture_output=True, text=True)
        self.assertIn("liblampar.so is not below /absent/lib: LAMPAR_PREFIX names a folder without lampar", failed.stderr)


if __name__ == "__main__":
    unittest.main()
