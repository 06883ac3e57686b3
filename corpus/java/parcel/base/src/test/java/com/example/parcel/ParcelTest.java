package com.example.parcel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class ParcelTest {
    @Test
    void volume() {
        assertEquals(6000, new Parcel(100, 10, 20, 30).volume());
    }

    @Test
    void weighsSomething() {
        assertThrows(IllegalArgumentException.class, () -> new Parcel(0, 1, 1, 1));
    }

    @Test
    void longestSide() {
        assertEquals(20, new Parcel(100, 10, 20, 5).longest());
    }
}
