package measure;

import java.math.RoundingMode;

/** Writes quantities for people. */
public final class QuantityFormat {
    private QuantityFormat() {
    }

    /** Rounds to the given number of digits after the point. */
    public static String format(Quantity quantity, int digits) {
        double rounded = quantity.amount().setScale(digits, RoundingMode.HALF_UP).doubleValue();
        return String.format("%." + digits + "f %s", rounded, quantity.unit().symbol());
    }
}
