package com.example.boxoffice;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import org.junit.jupiter.api.Test;

class BookingTest {
    private static final Instant START = Instant.parse("2024-05-01T18:00:00Z");

    private final Booking booking = new Booking(Clock.fixed(START, ZoneOffset.UTC));
    private final Seat seat = new Seat('A', 1);

    @Test
    void holdsOnce() {
        assertTrue(booking.hold(seat));
        assertFalse(booking.hold(seat));
    }

    @Test
    void sellsOnce() {
        booking.sell(seat, "ada");
        IllegalStateException error =
                assertThrows(IllegalStateException.class, () -> booking.sell(seat, "bob"));
        assertEquals("A1 is sold", error.getMessage());
    }

    @Test
    void soldSeatsAreNotHeld() {
        booking.sell(seat, "ada");
        assertFalse(booking.hold(seat));
    }

    @Test
    void knowsSeatsOfCustomer() {
        booking.sell(seat, "ada");
        booking.sell(new Seat('A', 2), "bob");
        assertEquals(List.of(seat), booking.seatsOf("ada"));
    }

    @Test
    void countsSoldSeats() {
        booking.sell(seat, "ada");
        assertEquals(1, booking.soldCount());
    }
}
