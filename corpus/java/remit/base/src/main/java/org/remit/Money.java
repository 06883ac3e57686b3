package org.remit;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.Currency;
import java.util.List;
import java.util.Objects;

/** An amount of a currency, with the decimals of that currency. */
public final class Money implements Comparable<Money> {
    private final BigDecimal amount;
    private final Currency currency;

    private Money(BigDecimal amount, Currency currency) {
        this.currency = Objects.requireNonNull(currency, "currency");
        this.amount = amount.setScale(currency.getDefaultFractionDigits(), RoundingMode.HALF_EVEN);
    }

    public static Money of(String amount, String currency) {
        return new Money(new BigDecimal(amount), Currency.getInstance(currency));
    }

    public static Money of(BigDecimal amount, Currency currency) {
        return new Money(amount, currency);
    }

    public static Money zero(Currency currency) {
        return new Money(BigDecimal.ZERO, currency);
    }

    public BigDecimal amount() {
        return amount;
    }

    public Currency currency() {
        return currency;
    }

    public boolean isNegative() {
        return amount.signum() < 0;
    }

    public Money plus(Money other) {
        return new Money(amount.add(same(other).amount), currency);
    }

    public Money minus(Money other) {
        return new Money(amount.subtract(same(other).amount), currency);
    }

    public Money times(BigDecimal factor) {
        return new Money(amount.multiply(factor), currency);
    }

    public Money times(int factor) {
        return times(BigDecimal.valueOf(factor));
    }

    /** Splits the amount into parts that differ by at most one unit. The first parts get the rest. */
    public List<Money> allocate(int parts) {
        if (parts < 1) {
            throw new IllegalArgumentException("parts must be positive: " + parts);
        }
        BigDecimal unit = BigDecimal.ONE.movePointLeft(amount.scale());
        BigDecimal share = amount.divide(BigDecimal.valueOf(parts), amount.scale(), RoundingMode.DOWN);
        BigDecimal rest = amount.subtract(share.multiply(BigDecimal.valueOf(parts)));
        List<Money> result = new ArrayList<>(parts);
        for (int i = 0; i < parts; i++) {
            BigDecimal extra = BigDecimal.ZERO;
            if (rest.signum() != 0) {
                extra = rest.signum() > 0 ? unit : unit.negate();
                rest = rest.subtract(extra);
            }
            result.add(new Money(share.add(extra), currency));
        }
        return result;
    }

    private Money same(Money other) {
        if (!currency.equals(other.currency)) {
            throw new IllegalArgumentException("different currencies: " + currency + " and " + other.currency);
        }
        return other;
    }

    @Override
    public int compareTo(Money other) {
        return amount.compareTo(same(other).amount);
    }

    @Override
    public boolean equals(Object object) {
        return object instanceof Money other && amount.equals(other.amount) && currency.equals(other.currency);
    }

    @Override
    public int hashCode() {
        return Objects.hash(amount, currency);
    }

    @Override
    public String toString() {
        return amount.toPlainString() + " " + currency.getCurrencyCode();
    }
}
