package measure;

import java.math.BigDecimal;
import java.util.Objects;

/** An amount of a unit. */
public record Quantity(BigDecimal amount, Unit unit) implements Comparable<Quantity> {
    public Quantity {
        Objects.requireNonNull(amount, "amount");
        Objects.requireNonNull(unit, "unit");
    }

    public static Quantity of(String amount, Unit unit) {
        return new Quantity(new BigDecimal(amount), unit);
    }

    /** The same quantity in another unit. */
    public Quantity to(Unit target) {
        if (target == unit) {
            return this;
        }
        requireSameDimension(target);
        return new Quantity(inBase().divide(target.size()).stripTrailingZeros(), target);
    }

    /** The sum, in the unit of this. */
    public Quantity plus(Quantity other) {
        return new Quantity(amount.add(other.to(unit).amount), unit);
    }

    public Quantity negate() {
        return new Quantity(amount.negate(), unit);
    }

    @Override
    public int compareTo(Quantity other) {
        requireSameDimension(other.unit);
        return inBase().compareTo(other.inBase());
    }

    private BigDecimal inBase() {
        return amount.multiply(unit.size());
    }

    private void requireSameDimension(Unit other) {
        if (unit.dimension() != other.dimension()) {
            throw new UnitMismatchException(unit, other);
        }
    }

    @Override
    public String toString() {
        return amount.toPlainString() + " " + unit.symbol();
    }
}
