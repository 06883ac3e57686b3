package measure;

/** Two units measure different things. */
public class UnitMismatchException extends IllegalArgumentException {
    public UnitMismatchException(Unit a, Unit b) {
        super("can't combine " + a.symbol() + " with " + b.symbol());
    }
}
