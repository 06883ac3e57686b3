import unittest

from slots.times import format_time, overlap, parse_time


class ParseTest(unittest.TestCase):
    def test_morning(self):
        self.assertEqual(parse_time("9:30"), 570)

    def test_midnight(self):
        self.assertEqual(parse_time("0:00"), 0)

    def test_nonsense(self):
        with self.assertRaises(ValueError):
            parse_time("noon")


class FormatTest(unittest.TestCase):
    def test_table(self):
        for minutes, text in [(0, "00:00"), (570, "09:30"), (1439, "23:59")]:
            with self.subTest(minutes=minutes):
                self.assertEqual(format_time(minutes), text)


class OverlapTest(unittest.TestCase):
    def test_apart(self):
        self.assertFalse(overlap((0, 10), (20, 30)))

    def test_inside(self):
        self.assertTrue(overlap((0, 30), (10, 20)))
