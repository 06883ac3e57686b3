package org.remit;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.Currency;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** An invoice: lines, discounts and tax. */
public class Invoice {
    private final String number;
    private final Currency currency;
    private final List<Line> lines = new ArrayList<>();
    private final List<Discount> discounts = new ArrayList<>();

    public Invoice(String number, Currency currency) {
        this.number = number;
        this.currency = currency;
    }

    public Invoice add(Line line) {
        if (!line.price().currency().equals(currency)) {
            throw new IllegalArgumentException("the invoice is in " + currency);
        }
        lines.add(line);
        return this;
    }

    public Invoice discount(Discount discount) {
        discounts.add(discount);
        return this;
    }

    public String number() {
        return number;
    }

    public List<Line> lines() {
        return List.copyOf(lines);
    }

    /** The sum of the lines, without discounts. */
    public Money subtotal() {
        Money sum = Money.zero(currency);
        for (Line line : lines) {
            sum = sum.plus(line.net());
        }
        return sum;
    }

    /** The sum of the lines, with discounts. */
    public Money net() {
        Money net = subtotal();
        for (Discount discount : discounts) {
            net = discount.apply(net);
        }
        return net;
    }

    /** The tax for each rate that occurs. */
    public Map<TaxRate, Money> taxes() {
        Map<TaxRate, Money> nets = new EnumMap<>(TaxRate.class);
        for (Line line : lines) {
            nets.merge(line.tax(), line.net(), Money::plus);
        }
        BigDecimal share = share();
        nets.replaceAll((rate, net) -> net.times(share.multiply(rate.rate())));
        return nets;
    }

    public Money total() {
        Money total = net();
        for (Money tax : taxes().values()) {
            total = total.plus(tax);
        }
        return total;
    }

    private BigDecimal share() {
        Money subtotal = subtotal();
        if (subtotal.amount().signum() == 0) {
            return BigDecimal.ONE;
        }
        return net().amount().divide(subtotal.amount(), MathContext.DECIMAL64);
    }
}
