package measure;

import java.math.BigDecimal;
import java.util.Optional;

/** A unit with its symbol, and its size in the base unit of the dimension. */
public enum Unit {
    METRE("m", Dimension.LENGTH, "1"),
    CENTIMETRE("cm", Dimension.LENGTH, "0.01"),
    KILOMETRE("km", Dimension.LENGTH, "1000"),
    INCH("in", Dimension.LENGTH, "0.0254"),
    FOOT("ft", Dimension.LENGTH, "0.3048"),
    MILE("mi", Dimension.LENGTH, "1609.344"),
    KILOGRAM("kg", Dimension.MASS, "1"),
    GRAM("g", Dimension.MASS, "0.001"),
    POUND("lb", Dimension.MASS, "0.45359237"),
    SECOND("s", Dimension.TIME, "1"),
    MINUTE("min", Dimension.TIME, "60"),
    HOUR("h", Dimension.TIME, "3600");

    private final String symbol;
    private final Dimension dimension;
    private final BigDecimal size;

    Unit(String symbol, Dimension dimension, String size) {
        this.symbol = symbol;
        this.dimension = dimension;
        this.size = new BigDecimal(size);
    }

    public String symbol() {
        return symbol;
    }

    public Dimension dimension() {
        return dimension;
    }

    public BigDecimal size() {
        return size;
    }

    public static Optional<Unit> ofSymbol(String symbol) {
        for (Unit unit : values()) {
            if (unit.symbol.equals(symbol)) {
                return Optional.of(unit);
            }
        }
        return Optional.empty();
    }
}
