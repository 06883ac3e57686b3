package org.example.almanac;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Compares text with a file of src/test/resources. */
final class Golden {
    private Golden() {}

    static void check(String name, String actual) {
        try {
            assertEquals(Files.readString(Path.of("src/test/resources", name)), actual);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
