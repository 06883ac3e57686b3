package org.remit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.util.List;
import org.junit.jupiter.api.Test;

class MoneyTest {
    private static Money eur(String amount) {
        return Money.of(amount, "EUR");
    }

    @Test
    void hasTheDecimalsOfItsCurrency() {
        assertEquals("5.00 EUR", eur("5").toString());
        assertEquals("5 JPY", Money.of("5.4", "JPY").toString());
        assertEquals("5.400 KWD", Money.of("5.4", "KWD").toString());
    }

    @Test
    void roundsHalfEven() {
        assertEquals(eur("0.12"), eur("0.125"));
        assertEquals(eur("0.14"), eur("0.135"));
        assertEquals(eur("-0.12"), eur("-0.125"));
    }

    @Test
    void addsAndSubtracts() {
        assertEquals(eur("3.30"), eur("1.10").plus(eur("2.20")));
        assertEquals(eur("-1.10"), eur("1.10").minus(eur("2.20")));
        assertTrue(eur("1.10").minus(eur("2.20")).isNegative());
    }

    @Test
    void multiplies() {
        assertEquals(eur("3.30"), eur("1.10").times(3));
        assertEquals(eur("0.28"), eur("1.10").times(new BigDecimal("0.25")));
    }

    @Test
    void currenciesDoNotMix() {
        Money usd = Money.of("1", "USD");
        assertThrows(IllegalArgumentException.class, () -> eur("1").plus(usd));
        assertThrows(IllegalArgumentException.class, () -> eur("1").compareTo(usd));
        assertNotEquals(eur("1"), usd);
    }

    @Test
    void allocatesWithoutLoss() {
        assertEquals(List.of(eur("3.34"), eur("3.33"), eur("3.33")), eur("10").allocate(3));
        assertEquals(List.of(eur("-0.02"), eur("-0.01")), eur("-0.03").allocate(2));
        assertEquals(List.of(eur("10")), eur("10").allocate(1));
    }

    @Test
    void allocatesToAtLeastOnePart() {
        assertThrows(IllegalArgumentException.class, () -> eur("10").allocate(0));
    }

    @Test
    void equalAmountsHaveEqualHashes() {
        assertEquals(eur("1.0").hashCode(), eur("1.00").hashCode());
    }

    @Test
    void comparesAmounts() {
        assertTrue(eur("1").compareTo(eur("2")) < 0);
        assertEquals(0, eur("1").compareTo(eur("1.00")));
    }
}
