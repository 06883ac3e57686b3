package com.example.boxoffice;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.time.DayOfWeek;
import org.junit.jupiter.api.Test;

class FareTest {
    private final Fare fare = new Fare(2000);

    @Test
    void adultsPayFull() {
        assertEquals(2000, fare.forAge(30));
    }

    @Test
    void childrenPayHalf() {
        assertEquals(1000, fare.forAge(10));
    }

    @Test
    void smallChildrenAreFree() {
        assertEquals(0, fare.forAge(5));
    }

    @Test
    void mondaysAreCheaper() {
        assertEquals(1600, fare.forAge(30, DayOfWeek.MONDAY));
        assertEquals(2000, fare.forAge(30, DayOfWeek.TUESDAY));
    }

    @Test
    void oneOfTenGoesFree() {
        assertEquals(18000, fare.forGroup(10));
    }

    @Test
    void refusesNegativeFare() {
        assertThrows(IllegalArgumentException.class, () -> new Fare(-1));
    }
}
