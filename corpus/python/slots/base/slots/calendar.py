"""What is booked on a day."""

from slots.times import overlap


class Conflict(Exception):
    """Two bookings overlap."""


class Calendar:
    def __init__(self, opens=540, closes=1020):
        self.opens = opens
        self.closes = closes
        self.bookings = []

    def book(self, start, end):
        for other in self.bookings:
            if overlap((start, end), other):
                raise Conflict(other)
        self.bookings.append((start, end))

    def cancel(self, start):
        for booking in self.bookings:
            if booking[0] == start:
                self.bookings.remove(booking)

    def free(self):
        """The spans in which nothing is booked."""
        spans = []
        begin = self.opens
        for start, end in self.bookings:
            if start > begin:
                spans.append((begin, start))
            begin = end
        if begin < self.closes:
            spans.append((begin, self.closes))
        return spans

    def longest(self):
        """The longest free span."""
        return max(self.free(), key=lambda span: span[1] - span[0])
