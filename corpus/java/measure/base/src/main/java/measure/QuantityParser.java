package measure;

import java.math.BigDecimal;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads texts such as {@code 5.2 km} or {@code 5 ft 11 in}. */
public class QuantityParser {
    private static final Pattern PART = Pattern.compile("(\\d+(?:\\.\\d+)?)\\s*([a-z]+)\\s*");

    /** The sum of all parts, in the unit of the first. */
    public Quantity parse(String text) {
        String rest = text.trim();
        boolean negative = rest.charAt(0) == '-';
        if (negative) {
            rest = rest.substring(1).trim();
        }
        Quantity sum = null;
        Matcher part = PART.matcher(rest);
        int end = 0;
        while (part.find() && part.start() == end) {
            Unit unit = Unit.ofSymbol(part.group(2)).orElseThrow(() -> new QuantityFormatException(text));
            Quantity next = new Quantity(new BigDecimal(part.group(1)), unit);
            if (sum == null) {
                sum = negative ? next.negate() : next;
            } else {
                sum = sum.plus(next);
            }
            end = part.end();
        }
        if (sum == null || end < rest.length()) {
            throw new QuantityFormatException(text);
        }
        return sum;
    }
}
