"""Packs from Python: opened, made from specs, and what is said of a mistake."""

import os
import tempfile
import unittest

import ranks  # noqa: F401
import lampar

SPEC = dict(name="python-pack", arch=["emu"], world=[2], dtype=["bf16"], hidden=[256], rows=4)


class Build(unittest.TestCase):
    def test_kernels(self):
        with lampar.Pack.build_text(lampar.spec(**SPEC, epilogue=[["residual", "rmsnorm"]]), arch="emu") as pack:
            self.assertEqual(pack.name, "python-pack")
            self.assertRegex(pack.digest, "^[0-9a-f]{32}$")
            fused = [kernel for kernel in pack.kernels if kernel.epilogue and kernel.world == 2]
            self.assertEqual(
                [operand.name for operand in fused[0].operands], ["residual", "residual_out", "weight", "eps"]
            )
            self.assertEqual(fused[0].operands[2].granularity, lampar.Granularity.COLUMN)
            self.assertEqual(pack.stats.kernels, len(pack.kernels))

    def test_cache_and_progress(self):
        with tempfile.TemporaryDirectory() as folder:
            seen = []
            options = dict(arch="emu", write_folder=folder)
            first = lampar.Pack.build_text(
                lampar.spec(**SPEC), progress=lambda done, total, name: seen.append((done, total)), **options
            )
            again = lampar.Pack.build_text(lampar.spec(**SPEC), **options)
            self.assertEqual(seen[-1], (first.stats.compiled, first.stats.compiled))
            self.assertEqual((again.stats.cached, again.stats.compiled), (again.stats.kernels, 0))
            self.assertEqual(first.digest, again.digest)
            first.close()
            again.close()

    def test_progress_stops(self):
        with self.assertRaises(lampar.Cancelled):
            lampar.Pack.build_text(lampar.spec(**SPEC), arch="emu", write_folder="", progress=lambda *_: True)

    def test_what_progress_raises(self):
        def progress(done, total, name):
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            lampar.Pack.build_text(lampar.spec(**SPEC), arch="emu", write_folder="", progress=progress)

    def test_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "spec.lua")
            with open(path, "w", encoding="utf-8") as file:
                file.write(lampar.spec(**SPEC))
            with lampar.Pack.build(path, arch="emu") as pack:
                self.assertEqual(pack.name, "python-pack")


class Mistakes(unittest.TestCase):
    def test_spec(self):
        with self.assertRaisesRegex(lampar.ArgumentError, "^mine:1: unknown field nme; the nearest known is name$"):
            lampar.Pack.build_text("return spec { nme = 1 }", name="mine", arch="emu")

    def test_values_that_a_spec_lacks(self):
        with self.assertRaisesRegex(TypeError, "a spec has no value of type float: 1.5"):
            lampar.spec(**SPEC, watchdog_ms=1.5)

    def test_text_in_a_spec(self):
        quoted = 'a"\\\n}'
        with self.assertRaisesRegex(lampar.ArgumentError, "name"):
            lampar.Pack.build_text(lampar.spec(**dict(SPEC, name=quoted)), arch="emu")

    def test_absent_file(self):
        with self.assertRaisesRegex(lampar.SystemFailure, "/absent.pack"):
            lampar.Pack.open("/absent.pack")

    def test_not_a_pack(self):
        with self.assertRaises(lampar.PackError):
            lampar.Pack.open(__file__)


if __name__ == "__main__":
    unittest.main()
