package org.remit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Currency;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class InvoiceTest {
    private Invoice invoice;

    private static Money eur(String amount) {
        return Money.of(amount, "EUR");
    }

    @BeforeEach
    void setUp() {
        invoice = new Invoice("2024-017", Currency.getInstance("EUR"));
    }

    @Test
    void emptyInvoice() {
        assertEquals(eur("0"), invoice.total());
        assertEquals(Map.of(), invoice.taxes());
    }

    @Test
    void sumsTheLines() {
        invoice.add(new Line("Desk", 2, eur("149.90"), TaxRate.STANDARD));
        invoice.add(new Line("Book", 1, eur("20.00"), TaxRate.REDUCED));
        assertEquals(eur("319.80"), invoice.subtotal());
        assertEquals(eur("319.80"), invoice.net());
    }

    @Test
    void taxesAreComputedPerRate() {
        invoice.add(new Line("Desk", 1, eur("100.00"), TaxRate.STANDARD));
        invoice.add(new Line("Lamp", 1, eur("50.00"), TaxRate.STANDARD));
        invoice.add(new Line("Book", 1, eur("20.00"), TaxRate.REDUCED));
        assertEquals(Map.of(TaxRate.STANDARD, eur("28.50"), TaxRate.REDUCED, eur("1.40")), invoice.taxes());
        assertEquals(eur("199.90"), invoice.total());
    }

    @Test
    void taxIsRoundedOncePerRate() {
        for (int i = 0; i < 3; i++) {
            invoice.add(new Line("Pin", 1, eur("0.08"), TaxRate.STANDARD));
        }
        assertEquals(eur("0.05"), invoice.taxes().get(TaxRate.STANDARD));
    }

    @Test
    void discountsApplyInOrder() {
        invoice.add(new Line("Desk", 1, eur("100.00"), TaxRate.EXEMPT));
        invoice.discount(Discount.percent(10)).discount(Discount.fixed(eur("5.00")));
        assertEquals(eur("85.00"), invoice.net());
    }

    @Test
    void taxFollowsTheDiscount() {
        invoice.add(new Line("Desk", 1, eur("100.00"), TaxRate.STANDARD));
        invoice.discount(Discount.percent(50));
        assertEquals(eur("9.50"), invoice.taxes().get(TaxRate.STANDARD));
        assertEquals(eur("59.50"), invoice.total());
    }

    @Test
    void discountNeverGoesBelowZero() {
        invoice.add(new Line("Pin", 1, eur("3.00"), TaxRate.STANDARD));
        invoice.discount(Discount.fixed(eur("5.00")));
        assertEquals(eur("0.00"), invoice.net());
        assertEquals(eur("0.00"), invoice.total());
    }

    @Test
    void percentHasLimits() {
        assertThrows(IllegalArgumentException.class, () -> Discount.percent(-1));
        assertThrows(IllegalArgumentException.class, () -> Discount.percent(101));
    }

    @Test
    void linesAreChecked() {
        assertThrows(IllegalArgumentException.class, () -> new Line("", 1, eur("1"), TaxRate.EXEMPT));
        assertThrows(IllegalArgumentException.class, () -> new Line("Pin", 0, eur("1"), TaxRate.EXEMPT));
    }

    @Test
    void otherCurrenciesAreRefused() {
        Line line = new Line("Pin", 1, Money.of("1", "USD"), TaxRate.EXEMPT);
        assertThrows(IllegalArgumentException.class, () -> invoice.add(line));
    }
}
