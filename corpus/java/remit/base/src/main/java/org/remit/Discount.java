package org.remit;

import java.math.BigDecimal;

/** A reduction of the net amount of an invoice. */
public interface Discount {
    /** The amount that is left. */
    Money apply(Money net);

    static Discount percent(int percent) {
        if (percent < 0 || percent > 100) {
            throw new IllegalArgumentException("percent must be from 0 to 100: " + percent);
        }
        BigDecimal factor = BigDecimal.valueOf(100L - percent).movePointLeft(2);
        return net -> net.times(factor);
    }

    static Discount fixed(Money amount) {
        return net -> {
            Money left = net.minus(amount);
            return left.isNegative() ? Money.zero(net.currency()) : left;
        };
    }
}
