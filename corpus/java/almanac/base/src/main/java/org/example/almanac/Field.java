package org.example.almanac;

import java.util.BitSet;
import java.util.List;
import java.util.Locale;

/** One field of a schedule: the values it allows between a lowest and a highest one. */
public final class Field {
    private final BitSet values = new BitSet();
    private final int low;
    private final int high;
    private final List<String> names;

    private Field(int low, int high, List<String> names) {
        this.low = low;
        this.high = high;
        this.names = names;
    }

    /** Reads {@code *}, {@code 5}, {@code 1-5}, {@code * /15} (without the space) and lists of them. */
    public static Field parse(String text, int low, int high, List<String> names) {
        Field field = new Field(low, high, names);
        for (String part : text.split(",")) {
            field.add(part);
        }
        return field;
    }

    private void add(String part) {
        String range = part;
        int step = 1;
        int slash = part.indexOf('/');
        if (slash >= 0) {
            range = part.substring(0, slash);
            step = Integer.parseInt(part.substring(slash + 1));
        }
        int first = low;
        int last = high;
        if (!range.equals("*")) {
            int dash = range.indexOf('-');
            first = number(dash < 0 ? range : range.substring(0, dash));
            last = dash < 0 ? first : number(range.substring(dash + 1));
        }
        if (first < low || last > high) {
            throw new IllegalArgumentException("not between " + low + " and " + high + ": " + part);
        }
        for (int value = first; value <= last; value += step) {
            values.set(value);
        }
    }

    private int number(String text) {
        int at = names.indexOf(text.toUpperCase(Locale.getDefault()));
        return at >= 0 ? low + at : Integer.parseInt(text);
    }

    public boolean allows(int value) {
        return values.get(value);
    }

    /** The first allowed value from {@code value} on, or -1. */
    public int next(int value) {
        return values.nextSetBit(value);
    }

    public int size() {
        return values.cardinality();
    }
}
