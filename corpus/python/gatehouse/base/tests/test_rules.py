import unittest

from gatehouse.rules import parse_rule


class ParseRuleTest(unittest.TestCase):
    def test_periods(self):
        self.assertEqual(parse_rule("10/s"), (10, 10))
        self.assertEqual(parse_rule("120/min"), (2, 120))
        self.assertEqual(parse_rule("3600/h"), (1, 3600))

    def test_rejects(self):
        for text in ["", "10", "10/", "10/fortnight", "x/s"]:
            with self.subTest(text=text):
                with self.assertRaises(ValueError):
                    parse_rule(text)
