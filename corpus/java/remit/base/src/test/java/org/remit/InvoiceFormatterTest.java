package org.remit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Currency;
import org.junit.jupiter.api.Test;

class InvoiceFormatterTest {
    private final InvoiceFormatter formatter = new InvoiceFormatter();

    private static Invoice invoice(String text) {
        return new Invoice("2024-017", Currency.getInstance("EUR"))
            .add(new Line(text, 2, Money.of("10.00", "EUR"), TaxRate.STANDARD));
    }

    @Test
    void printsTheInvoice() {
        String expected = """
            Invoice 2024-017
            ------------------------------------------------
            2 x Desk                               20.00 EUR
            ------------------------------------------------
            Net                                    20.00 EUR
            Tax 19%                                 3.80 EUR
            Total                                  23.80 EUR
            """;
        assertEquals(expected, formatter.format(invoice("Desk")));
    }

    @Test
    void printsDiscounts() {
        String text = formatter.format(invoice("Desk").discount(Discount.percent(10)));
        assertTrue(text.contains("Discount                               -2.00 EUR\n"), text);
        assertFalse(formatter.format(invoice("Desk")).contains("Discount"));
    }

    @Test
    void cutsLongTexts() {
        String text = formatter.format(invoice("A very long description of a desk with drawers"));
        assertTrue(text.lines().allMatch(line -> line.length() <= 48), text);
        assertTrue(text.contains("~ 20.00 EUR\n"), text);
    }

    @Test
    void labelsOfRates() {
        assertEquals("19%", TaxRate.STANDARD.label());
        assertEquals("0%", TaxRate.EXEMPT.label());
    }
}
