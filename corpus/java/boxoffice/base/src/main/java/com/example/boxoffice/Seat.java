package com.example.boxoffice;

/** A seat such as C12: the row is a letter, the number counts from 1. */
public record Seat(char row, int number) {
    public Seat {
        if (row < 'A' || row > 'Z') {
            throw new IllegalArgumentException("bad row: " + row);
        }
    }

    /** Reads a seat such as C12. */
    public static Seat parse(String text) {
        return new Seat(text.charAt(0), Integer.parseInt(text.substring(1)));
    }

    /** Whether the other seat is directly beside this one. */
    public boolean isBeside(Seat other) {
        return Math.abs(number - other.number) == 1;
    }

    @Override
    public String toString() {
        return "" + row + number;
    }
}
