package com.example.boxoffice;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The seats that are held or sold for one show. */
public final class Booking {
    private static final Duration HOLD = Duration.ofMinutes(10);

    private final Clock clock;
    private final Map<Seat, String> sold = new HashMap<>();
    private final Map<Seat, Instant> held = new HashMap<>();

    public Booking(Clock clock) {
        this.clock = clock;
    }

    /** Holds a seat for ten minutes. */
    public boolean hold(Seat seat) {
        if (sold.containsKey(seat) || held.containsKey(seat)) {
            return false;
        }
        held.put(seat, clock.instant().plus(HOLD));
        return true;
    }

    /** Sells a seat. */
    public void sell(Seat seat, String customer) {
        if (sold.containsKey(seat)) {
            throw new IllegalStateException(seat + " is sold");
        }
        held.remove(seat);
        sold.put(seat, customer);
    }

    /** The seats of a customer. */
    public List<Seat> seatsOf(String customer) {
        List<Seat> seats = new ArrayList<>();
        for (Map.Entry<Seat, String> entry : sold.entrySet()) {
            if (entry.getValue() == customer) {
                seats.add(entry.getKey());
            }
        }
        return seats;
    }

    /** How many seats are sold. */
    public int soldCount() {
        return sold.size();
    }
}
