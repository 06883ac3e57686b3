package org.example.almanac;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class FieldTest {
    private static Field parse(String text) {
        return Field.parse(text, 0, 9, List.of());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "*      | 0 1 2 3 4 5 6 7 8 9",
        "4      | 4",
        "2-5    | 2 3 4 5",
        "*/3    | 0 3 6 9",
        "1-7/2  | 1 3 5 7",
        "8,1-2  | 1 2 8",
    })
    void reads(String text, String values) {
        Field field = parse(text);
        assertEquals(values, IntStream.range(0, 10).filter(field::allows).mapToObj(String::valueOf).collect(Collectors.joining(" ")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "x", "10", "2-12", "-1", "1-", "*/x"})
    void rejects(String text) {
        assertThrows(IllegalArgumentException.class, () -> parse(text));
    }

    @Test
    void names() {
        Field field = Field.parse("feb-mar", 1, 3, List.of("JAN", "FEB", "MAR"));
        assertEquals(2, field.size());
        assertTrue(field.allows(2));
        assertTrue(field.allows(3));
    }

    @Test
    void next() {
        Field field = parse("2,7");
        assertEquals(2, field.next(0));
        assertEquals(2, field.next(2));
        assertEquals(7, field.next(3));
        assertEquals(-1, field.next(8));
    }
}
