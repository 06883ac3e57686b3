package org.remit;

/** A line of an invoice. */
public record Line(String text, int quantity, Money price, TaxRate tax) {
    public Line {
        if (text == null || text.isBlank()) {
            throw new IllegalArgumentException("text must not be blank");
        }
        if (quantity < 1) {
            throw new IllegalArgumentException("quantity must be positive: " + quantity);
        }
    }

    public Money net() {
        return price.times(quantity);
    }
}
