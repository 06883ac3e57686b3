package com.example.boxoffice;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class SeatTest {
    @Test
    void parsesSeat() {
        assertEquals(new Seat('C', 12), Seat.parse("C12"));
    }

    @Test
    void printsSeat() {
        assertEquals("C12", new Seat('C', 12).toString());
    }

    @Test
    void refusesBadRow() {
        assertThrows(IllegalArgumentException.class, () -> new Seat('?', 1));
    }

    @Test
    void neighboursAreBeside() {
        assertTrue(new Seat('C', 12).isBeside(new Seat('C', 13)));
        assertFalse(new Seat('C', 12).isBeside(new Seat('C', 14)));
    }
}
