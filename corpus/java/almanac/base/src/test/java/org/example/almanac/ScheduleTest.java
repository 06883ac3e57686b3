package org.example.almanac;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.LocalDateTime;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ScheduleTest {
    @ParameterizedTest
    @CsvSource({
        "* * * * *,          2024-05-06T08:00, 2024-05-06T08:01",
        "30 8 * * *,         2024-05-06T08:00, 2024-05-06T08:30",
        "30 8 * * *,         2024-05-06T08:30, 2024-05-07T08:30",
        "0 9-17 * * *,       2024-05-06T12:05, 2024-05-06T13:00",
        "15 6 * * MON-FRI,   2024-05-03T07:00, 2024-05-06T06:15",
        "0 0 1 JAN *,        2024-05-06T08:00, 2025-01-01T00:00",
        "0 0 29 FEB *,       2024-03-01T00:00, 2028-02-29T00:00",
    })
    void next(String schedule, LocalDateTime from, LocalDateTime next) {
        assertEquals(Optional.of(next), Schedule.parse(schedule).next(from));
    }

    @Test
    void never() {
        assertEquals(Optional.empty(), Schedule.parse("0 0 31 FEB *").next(LocalDateTime.of(2024, 5, 6, 8, 0)));
    }

    @Test
    void wantsFiveFields() {
        IllegalArgumentException error =
                assertThrows(IllegalArgumentException.class, () -> Schedule.parse("* * * *"));
        assertEquals("want 5 fields, got 4: * * * *", error.getMessage());
    }

    @Test
    void nextIsAlwaysLater() {
        Random random = new Random(5);
        for (int i = 0; i < 300; i++) {
            Schedule schedule = Schedule.parse(random.nextInt(60) + " " + random.nextInt(24) + " * * " + (1 + random.nextInt(7)));
            LocalDateTime from = LocalDateTime.of(2024, 1, 1, 0, 0).plusMinutes(random.nextInt(500_000));
            LocalDateTime next = schedule.next(from).orElseThrow();
            assertTrue(next.isAfter(from), schedule + " from " + from);
        }
    }
}
