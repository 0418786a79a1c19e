"""Confidence intervals of medians: compared with a table, and how often they contain the true
median."""
import pathlib
import random
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))
import ratios  # noqa: E402


class MedianInterval(unittest.TestCase):
    def test_ranks_are_those_of_the_table(self):
        # Conover, table of the binomial distribution: n, the rank from either end at 95 %, the
        # coverage.
        for n, rank, sure in ((6, 1, 0.969), (10, 2, 0.979), (15, 4, 0.965), (20, 6, 0.959), (30, 10, 0.957)):
            low, high, got = ratios.median_interval(range(1, n + 1))
            self.assertEqual((low, high), (rank, n + 1 - rank), n)
            self.assertAlmostEqual(got, sure, 3)

    def test_few_values_have_their_range_and_say_how_sure_it_is(self):
        self.assertEqual(ratios.median_interval([0.8]), (0.8, 0.8, 0.0))
        self.assertEqual(ratios.median_interval([0.9, 0.8]), (0.8, 0.9, 0.5))
        self.assertEqual(ratios.percentile_90([3.0]), 3.0)
        self.assertEqual(ratios.summary([0.8])["ratio"], 0.8)

    def test_the_truth_is_inside_as_often_as_said(self):
        seed = 1
        generator = random.Random(seed)
        trials, inside = 2000, 0
        for _ in range(trials):
            low, high, _ = ratios.median_interval([generator.lognormvariate(0, 1) for _ in range(12)])
            inside += low <= 1 <= high  # the median of exp(N(0, 1))
        self.assertGreater(inside / trials, 0.95, f"seed {seed}")


if __name__ == "__main__":
    unittest.main()
