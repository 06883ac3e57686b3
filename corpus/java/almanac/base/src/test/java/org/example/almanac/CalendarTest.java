package org.example.almanac;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.LocalDateTime;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class CalendarTest {
    private Calendar calendar;

    @BeforeEach
    void setUp() {
        calendar = new Calendar().add("mail", "0 7 * * MON-FRI").add("backup", "30 2 * * *").add("audit", "0 0 31 FEB *");
    }

    @Test
    void renders() {
        Golden.check("calendar.txt", calendar.render(LocalDateTime.of(2024, 5, 3, 12, 0)));
    }

    @Test
    void countsJobs() {
        assertEquals(3, calendar.size());
        assertEquals(3, calendar.add("mail", "0 8 * * *").size());
    }
}
