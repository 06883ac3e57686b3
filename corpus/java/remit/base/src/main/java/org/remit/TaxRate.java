package org.remit;

import java.math.BigDecimal;

/** The rates of tax. */
public enum TaxRate {
    STANDARD("0.19"),
    REDUCED("0.07"),
    EXEMPT("0");

    private final BigDecimal rate;

    TaxRate(String rate) {
        this.rate = new BigDecimal(rate);
    }

    public BigDecimal rate() {
        return rate;
    }

    /** The rate as a number of percent, such as {@code 19%}. */
    public String label() {
        return rate.movePointRight(2).stripTrailingZeros().toPlainString() + "%";
    }
}
