package org.example.almanac;

import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.List;
import java.util.Optional;

/** Minute, hour, day of the month, month, weekday. */
public final class Schedule {
    private static final List<String> MONTHS =
            List.of("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC");
    private static final List<String> DAYS = List.of("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN");

    private final String text;
    private final Field minutes;
    private final Field hours;
    private final Field days;
    private final Field months;
    private final Field weekdays;

    private Schedule(String text, String[] parts) {
        this.text = text;
        minutes = Field.parse(parts[0], 0, 59, List.of());
        hours = Field.parse(parts[1], 0, 23, List.of());
        days = Field.parse(parts[2], 1, 31, List.of());
        months = Field.parse(parts[3], 1, 12, MONTHS);
        weekdays = Field.parse(parts[4], 1, 7, DAYS);
    }

    public static Schedule parse(String text) {
        String[] parts = text.split(" ");
        if (parts.length != 5) {
            throw new IllegalArgumentException("want 5 fields, got " + parts.length + ": " + text);
        }
        return new Schedule(text, parts);
    }

    private boolean onDay(LocalDate day) {
        return months.allows(day.getMonthValue())
                && days.allows(day.getDayOfMonth())
                && weekdays.allows(day.getDayOfWeek().getValue());
    }

    /** The first time after {@code from}, if there is one within four years. */
    public Optional<LocalDateTime> next(LocalDateTime from) {
        LocalDateTime start = from.withSecond(0).withNano(0).plusMinutes(1);
        for (LocalDate day = start.toLocalDate(); day.isBefore(from.toLocalDate().plusYears(4)); day = day.plusDays(1)) {
            if (!onDay(day)) {
                continue;
            }
            int hour = day.equals(start.toLocalDate()) ? start.getHour() : 0;
            int minute = day.equals(start.toLocalDate()) ? start.getMinute() : 0;
            for (hour = hours.next(hour); hour >= 0; hour = hours.next(hour + 1)) {
                int found = minutes.next(minute);
                if (found >= 0) {
                    return Optional.of(day.atTime(hour, found));
                }
                minute = 0;
            }
        }
        return Optional.empty();
    }

    @Override
    public String toString() {
        return text;
    }
}
