package com.example.parcel;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TariffTest {
    static Parcel of(int grams) {
        return new Parcel(grams, 10, 10, 10);
    }

    @ParameterizedTest
    @CsvSource({"100, 290", "499, 290", "1500, 490", "9999, 990"})
    void price(int grams, int cents) {
        assertEquals(cents, Tariff.price(of(grams)));
    }

    @Test
    void averagePrice() {
        assertEquals(390, Tariff.average(List.of(of(100), of(1000))));
    }

    @Nested
    class Discounts {
        @Test
        void tenPercent() {
            assertEquals(261, Tariff.discounted(of(100), 10));
        }

        @Test
        void nothingOff() {
            assertEquals(290, Tariff.discounted(of(100), 0));
        }
    }
}
