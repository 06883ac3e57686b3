package com.example.parcel;

/** What it costs to send a parcel, in cents. */
public final class Tariff {
    private static final int[] LIMITS = {500, 2000, 10000};
    private static final int[] PRICES = {290, 490, 990};

    private Tariff() {}

    public static int price(Parcel parcel) {
        for (int i = 0; i < LIMITS.length; i++) {
            if (parcel.grams() < LIMITS[i]) {
                return PRICES[i];
            }
        }
        return PRICES[LIMITS.length];
    }

    /** The price with a discount in percent, rounded half up. */
    public static int discounted(Parcel parcel, int percent) {
        int price = price(parcel);
        return price - price * percent / 100;
    }

    /** The mean price of some parcels. */
    public static int average(java.util.List<Parcel> parcels) {
        return parcels.stream().mapToInt(Tariff::price).sum() / parcels.size();
    }
}
