package measure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class QuantityTest {
    @Test
    void convertsToSmallerUnits() {
        assertEquals("1609.344 m", Quantity.of("1", Unit.MILE).to(Unit.METRE).toString());
        assertEquals("12 in", Quantity.of("1", Unit.FOOT).to(Unit.INCH).toString());
        assertEquals("90 min", Quantity.of("1.5", Unit.HOUR).to(Unit.MINUTE).toString());
    }

    @Test
    void convertsToLargerUnits() {
        assertEquals("1.5 km", Quantity.of("1500", Unit.METRE).to(Unit.KILOMETRE).toString());
        assertEquals("0.25 kg", Quantity.of("250", Unit.GRAM).to(Unit.KILOGRAM).toString());
    }

    @Test
    void sameUnitIsLeftAlone() {
        Quantity quantity = Quantity.of("1.50", Unit.METRE);
        assertSame(quantity, quantity.to(Unit.METRE));
    }

    @Test
    void addsInTheUnitOfTheFirst() {
        Quantity sum = Quantity.of("1", Unit.KILOMETRE).plus(Quantity.of("250", Unit.METRE));
        assertEquals("1.25 km", sum.toString());
    }

    @Test
    void dimensionsDoNotMix() {
        Quantity metre = Quantity.of("1", Unit.METRE);
        Quantity second = Quantity.of("1", Unit.SECOND);
        UnitMismatchException error = assertThrows(UnitMismatchException.class, () -> second.plus(metre));
        assertEquals("can't combine m with s", error.getMessage());
        assertThrows(UnitMismatchException.class, () -> metre.compareTo(second));
        assertThrows(UnitMismatchException.class, () -> metre.to(Unit.HOUR));
    }

    @Test
    void comparesAcrossUnits() {
        assertTrue(Quantity.of("1", Unit.MILE).compareTo(Quantity.of("1.6", Unit.KILOMETRE)) > 0);
        assertEquals(0, Quantity.of("1", Unit.KILOMETRE).compareTo(Quantity.of("1000", Unit.METRE)));
    }
}
