package com.example.boxoffice;

import java.time.DayOfWeek;

/** What a ticket costs, in cents. */
public final class Fare {
    private final int full;

    public Fare(int full) {
        if (full < 0) {
            throw new IllegalArgumentException("negative fare");
        }
        this.full = full;
    }

    /** The price for a visitor of an age. */
    public int forAge(int age) {
        if (age < 6) {
            return 0;
        }
        if (age < 17) {
            return full / 2;
        }
        return full;
    }

    /** The price for a visitor of an age on a day: Mondays are a fifth cheaper. */
    public int forAge(int age, DayOfWeek day) {
        int price = forAge(age);
        return day == DayOfWeek.MONDAY ? price - price / 5 : price;
    }

    /** The price for a group: from ten people on, one goes free. */
    public int forGroup(int people) {
        return full * (people - people / 10);
    }
}
