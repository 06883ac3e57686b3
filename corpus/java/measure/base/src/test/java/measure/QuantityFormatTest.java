package measure;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

public class QuantityFormatTest {
    @Test
    public void roundsHalfUp() {
        assertEquals("2.5 km", QuantityFormat.format(Quantity.of("2.45", Unit.KILOMETRE), 1));
        assertEquals("3 km", QuantityFormat.format(Quantity.of("2.5", Unit.KILOMETRE), 0));
        assertEquals("2 km", QuantityFormat.format(Quantity.of("2.49", Unit.KILOMETRE), 0));
    }

    @Test
    public void fillsUpWithZeros() {
        assertEquals("2.50 s", QuantityFormat.format(Quantity.of("2.5", Unit.SECOND), 2));
    }
}
