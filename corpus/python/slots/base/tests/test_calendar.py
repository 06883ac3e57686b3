import unittest

from slots.calendar import Calendar, Conflict


class CalendarTest(unittest.TestCase):
    def setUp(self):
        self.calendar = Calendar()
        self.calendar.book(600, 660)

    def test_conflict(self):
        with self.assertRaises(Conflict):
            self.calendar.book(630, 700)
        self.assertEqual(len(self.calendar.bookings), 1)

    def test_free(self):
        self.assertEqual(self.calendar.free(), [(540, 600), (660, 1020)])

    def test_free_when_empty(self):
        self.assertEqual(Calendar().free(), [(540, 1020)])

    def test_cancel(self):
        self.calendar.cancel(600)
        self.assertEqual(self.calendar.bookings, [])

    def test_longest(self):
        self.assertEqual(self.calendar.longest(), (660, 1020))
