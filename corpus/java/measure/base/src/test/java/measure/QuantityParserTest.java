package measure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class QuantityParserTest {
    private final QuantityParser parser = new QuantityParser();

    @Test
    void onePart() {
        assertEquals(Quantity.of("5.2", Unit.KILOMETRE), parser.parse("5.2 km"));
        assertEquals(Quantity.of("5", Unit.POUND), parser.parse(" 5lb "));
    }

    @Test
    void severalParts() {
        assertEquals("1.5 h", parser.parse("1 h 30 min").toString());
        assertEquals("6.5 ft", parser.parse("6ft 6in").toString());
    }

    @Test
    void negative() {
        assertEquals("-3.5 m", parser.parse("-3.5 m").toString());
    }

    @Test
    void wrongTexts() {
        for (String text : new String[] {"km", "5", "5 furlongs", "5 km/h", "five km", "5 km 3", "1.km", "--5 m"}) {
            QuantityFormatException error =
                    assertThrows(QuantityFormatException.class, () -> parser.parse(text), text);
            assertEquals("not a quantity: '" + text + "'", error.getMessage());
        }
    }

    @Test
    void partsMustBeOfOneDimension() {
        assertThrows(UnitMismatchException.class, () -> parser.parse("5 ft 3 min"));
    }
}
