package measure;

/** What a unit measures. */
public enum Dimension {
    LENGTH,
    MASS,
    TIME
}
