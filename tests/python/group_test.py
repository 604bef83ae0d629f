"""Groups, exchanges and calls from Python, on the emulated device."""

import gc
import random
import time
import unittest
import warnings

import ranks
import lampar

HIDDEN, ROWS = 264, 8
FUSED = "residual+rmsnorm"
SPEC = lampar.spec(
    name="python", arch=["emu"], world=[2, 4], dtype=["bf16"], hidden=[HIDDEN], rows=ROWS,
    epilogue=[[], ["residual", "rmsnorm"]], watchdog_ms=20000,
)
pack = None


def setUpModule():
    global pack
    pack = lampar.Pack.build_text(SPEC, arch="emu")


def tearDownModule():
    pack.close()


def values(seed, count):
    draw = random.Random(seed)
    return [ranks.to_bf16(draw.uniform(-8, 8)) for _ in range(count)]


class Sum(unittest.TestCase):
    def test_bits_of_the_fold_in_rank_order(self):
        for world in (2, 4):
            given = [values(rank, ROWS * HIDDEN) for rank in range(world)]
            expected = ranks.fold(given)

            def body(rank, device, exchange):
                with lampar.Group([pack], exchange=exchange) as group:
                    x = device.buffer(2 * ROWS * HIDDEN)
                    ranks.store(x, given[rank])
                    group.all_reduce(x, x, rows=ROWS, hidden=HIDDEN, dtype=lampar.Dtype.BF16, stream=device.stream)
                    device.synchronize()
                    self.assertEqual((group.rank, group.world), (rank, world))
                    self.assertEqual(group.stats().kernel_calls, 1)
                    self.assertGreater(group.workspace_bytes, 0)
                    return ranks.load(x, ROWS * HIDDEN)

            for sums in ranks.run(world, body):
                self.assertEqual(sums, expected)

    def test_an_exchange_in_python(self):
        def body(rank, device, local):
            class Recorded:
                steps = 0

                def __init__(self):
                    self.rank, self.world = rank, 2

                def all_gather(self, mine):
                    Recorded.steps += 1
                    return local.all_gather(mine)

            with lampar.Group([pack], exchange=Recorded()) as group:
                self.assertGreater(Recorded.steps, 0)
                return group.query(1, HIDDEN, lampar.Dtype.BF16).path

        self.assertEqual(ranks.run(2, body), [lampar.Path.KERNEL] * 2)

    def fused_in_place(self, world, kernels, name):
        def body(rank, device, exchange):
            with lampar.Group([pack], exchange=exchange, kernels=kernels) as group:
                if world > 1:
                    answer = group.query(ROWS, HIDDEN, lampar.Dtype.BF16, epilogue=FUSED)
                    self.assertRegex(answer.kernel or answer.message, name)
                results = []
                for norm_in, residual_in in ((None, None), ("x", "residual"), (None, "x")):
                    x, residual, weight = (device.buffer(2 * ROWS * HIDDEN) for _ in range(3))
                    ranks.store(x, values(rank, ROWS * HIDDEN))
                    ranks.store(residual, values(7, ROWS * HIDDEN))
                    ranks.store(weight, values(8, HIDDEN))
                    norm = x if norm_in else device.buffer(2 * ROWS * HIDDEN)
                    residual_out = {"x": x, "residual": residual}.get(residual_in) or device.buffer(
                        2 * ROWS * HIDDEN
                    )
                    group.all_reduce(
                        x, norm, rows=ROWS, hidden=HIDDEN, dtype=lampar.Dtype.BF16, stream=device.stream,
                        epilogue=FUSED,
                        operands=(
                            lampar.Operand("residual", residual, lampar.Dtype.BF16),
                            lampar.Operand("residual_out", residual_out, lampar.Dtype.BF16),
                            lampar.Operand("weight", weight, lampar.Dtype.BF16),
                            lampar.Operand("eps", value=1e-6),
                        ),
                    )
                    device.synchronize()
                    results.append((ranks.load(norm, ROWS * HIDDEN), ranks.load(residual_out, ROWS * HIDDEN)))
                return results

        results = ranks.run(world, body)
        for separate, *in_place in results:
            self.assertEqual(separate, results[0][0])
            for result in in_place:
                self.assertEqual(separate, result)

    def test_outputs_in_place_of_inputs(self):
        self.fused_in_place(2, "*_r*", "oneshot.*_r")
        self.fused_in_place(2, "*_oneshot_*_emu", "oneshot.*_emu$")
        self.fused_in_place(4, "*_twoshot_*_r*", "twoshot.*_r")
        self.fused_in_place(4, "*_twoshot_*_emu", "twoshot.*_emu$")
        self.fused_in_place(1, None, None)  # the kernel that follows NCCL

    def test_memory_that_overlaps_in_part(self):
        def body(rank, device, exchange):
            with lampar.Group([pack], exchange=exchange) as group:
                x = device.buffer(4 * HIDDEN)
                with self.assertRaisesRegex(
                    lampar.ArgumentError, "call.output overlaps call.input: give both the same address"
                ):
                    group.all_reduce(
                        x, x.data_ptr() + 16, rows=1, hidden=HIDDEN, dtype=lampar.Dtype.BF16, stream=device.stream
                    )

        ranks.run(2, body)


class Refusals(unittest.TestCase):
    def test_a_call_that_no_kernel_takes(self):
        def body(rank, device, exchange):
            with lampar.Group([pack], exchange=exchange) as group:
                answer = group.query(ROWS + 1, HIDDEN, lampar.Dtype.BF16, epilogue=FUSED)
                self.assertEqual(answer.path, lampar.Path.NCCL)
                self.assertIn("more rows", answer.message)
                x = device.buffer(4 * ROWS * HIDDEN)
                with self.assertRaisesRegex(lampar.NoKernelError, "no NCCL communicator"):
                    group.all_reduce(
                        x, x, rows=1, hidden=HIDDEN, dtype=lampar.Dtype.F64, stream=device.stream
                    )

        ranks.run(2, body)

    def test_what_is_not_memory_or_a_stream(self):
        def body(rank, device, exchange):
            with lampar.Group([pack], exchange=exchange) as group:
                x = device.buffer(2 * HIDDEN)
                call = dict(rows=1, hidden=HIDDEN, dtype=lampar.Dtype.BF16)
                with self.assertRaisesRegex(TypeError, "list is not device memory"):
                    group.all_reduce([1], x, stream=device.stream, **call)
                with self.assertRaisesRegex(TypeError, "str is not a CUDA stream"):
                    group.all_reduce(x, x, stream="0", **call)
                with self.assertRaisesRegex(lampar.ArgumentError, "call.input is NULL"):
                    group.all_reduce(None, x, stream=device.stream, **call)

        ranks.run(2, body)

    def test_a_destroyed_group(self):
        def body(rank, device, exchange):
            group = lampar.Group([pack], exchange=exchange)
            group.destroy()
            group.destroy()
            with self.assertRaisesRegex(ValueError, "the group is destroyed"):
                group.query(1, HIDDEN, lampar.Dtype.BF16)

        ranks.run(2, body)

    def test_a_group_that_nobody_destroyed_warns(self):
        def body(rank, device, exchange):
            return lampar.Group([pack], exchange=exchange, role=lampar.Role.MOE)

        groups = ranks.run(2, body)
        with self.assertWarnsRegex(ResourceWarning, "was not destroyed"):
            groups.clear()
            gc.collect()

    def test_a_closed_pack(self):
        closed = lampar.Pack.build_text(SPEC, arch="emu")
        closed.close()
        with self.assertRaisesRegex(ValueError, "the pack is closed"):
            closed.kernels


class Exchanges(unittest.TestCase):
    def test_what_the_exchange_raises_is_raised(self):
        class Broken:
            rank, world = 0, 2

            def all_gather(self, mine):
                raise ConnectionError("the store is gone")

        def body(rank, device, exchange):
            if rank == 0:
                with self.assertRaisesRegex(ConnectionError, "the store is gone"):
                    lampar.Group([pack], exchange=Broken())

        ranks.run(2, body)

    def test_an_exchange_of_another_size(self):
        class Short:
            rank, world = 0, 2

            def all_gather(self, mine):
                return mine

        def body(rank, device, exchange):
            if rank == 0:
                with self.assertRaisesRegex(ValueError, "all_gather returned [0-9]+ bytes; [0-9]+ are expected"):
                    lampar.Group([pack], exchange=Short())

        ranks.run(2, body)

    def test_a_rank_that_does_not_come(self):
        def body(rank, device, exchange):
            if rank == 1:
                return 0.0
            start = time.monotonic()
            with self.assertRaises(lampar.Error):
                lampar.Group([pack], exchange=exchange)
            return time.monotonic() - start

        waited = ranks.run(2, body, timeout=0.5)[0]
        self.assertGreater(waited, 0.4)
        self.assertLess(waited, 20)

    def test_a_store(self):
        class Store:
            def __init__(self):
                self.values = {}

            def set(self, key, value):
                self.values[key] = value

            def get(self, key):
                while key not in self.values:
                    time.sleep(0.001)
                return self.values[key]

        store = Store()

        def body(rank, device, exchange):
            with lampar.Group([pack], exchange=lampar.TcpStoreExchange(store, rank, 2)) as group:
                return group.world

        self.assertEqual(ranks.run(2, body), [2, 2])


class Logs(unittest.TestCase):
    def test_lines_arrive_with_their_level(self):
        def body(rank, device, exchange):
            lines = []
            with lampar.Group([pack], exchange=exchange, log=lambda level, line: lines.append((level, line))):
                return lines

        for lines in ranks.run(2, body):
            self.assertTrue(any(level == lampar.LogLevel.INFO and "kernels for emu" in line for level, line in lines))


if __name__ == "__main__":
    warnings.simplefilter("default")
    unittest.main()
