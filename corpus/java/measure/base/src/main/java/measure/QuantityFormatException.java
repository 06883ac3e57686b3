package measure;

/** A text is not a quantity. */
public class QuantityFormatException extends IllegalArgumentException {
    public QuantityFormatException(String text) {
        super("not a quantity: '" + text + "'");
    }
}
