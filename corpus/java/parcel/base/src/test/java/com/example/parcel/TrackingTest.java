package com.example.parcel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class TrackingTest {
    private Tracking tracking;

    @BeforeEach
    void scanSome() {
        tracking = new Tracking();
        tracking.scan("P1", "Bern");
        tracking.scan("P1", "Basel");
        tracking.scan("P2", "Basel");
    }

    @Test
    void lastPlace() {
        assertEquals(Optional.of("Basel"), tracking.where("P1"));
    }

    @Test
    void countsScans() {
        assertEquals(2, tracking.scans("P1"));
        assertEquals(0, tracking.scans("P9"));
    }

    @Test
    void parcelsAtAPlace() {
        assertEquals(List.of("P1", "P2"), tracking.at("Basel"));
        assertTrue(tracking.at("Genf").isEmpty());
    }
}
