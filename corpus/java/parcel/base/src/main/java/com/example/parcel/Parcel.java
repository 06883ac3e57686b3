package com.example.parcel;

/** A parcel: grams and centimetres. */
public record Parcel(int grams, int length, int width, int height) {
    public Parcel {
        if (grams <= 0) {
            throw new IllegalArgumentException("a parcel weighs something");
        }
    }

    public int volume() {
        return length * width * height;
    }

    /** The longest side. */
    public int longest() {
        return Math.max(length, width);
    }
}
