package org.example.almanac;

import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** The next times of several schedules as text. */
public final class Calendar {
    private static final DateTimeFormatter FORMAT = DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm");
    private final Map<String, Schedule> jobs = new TreeMap<>();

    public Calendar add(String name, String schedule) {
        jobs.put(name, Schedule.parse(schedule));
        return this;
    }

    public int size() {
        return jobs.size();
    }

    public String render(LocalDateTime from) {
        StringBuilder out = new StringBuilder();
        for (Map.Entry<String, Schedule> job : jobs.entrySet()) {
            Optional<LocalDateTime> next = job.getValue().next(from);
            out.append(String.format("%-10s %s%n", job.getKey(), next.map(FORMAT::format).orElse("never")));
        }
        return out.toString();
    }
}
