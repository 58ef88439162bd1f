package com.stintdb.client;

import com.stintdb.client.internal.Bytes;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;

import org.jspecify.annotations.Nullable;

/** A key, an id or a name, of any bytes. One of more than 200 bytes is sent in a shortened form. */
public final class Key {
    private final byte[] bytes;
    private final int hash;

    private Key(byte[] bytes) {
        this.bytes = bytes;
        this.hash = Arrays.hashCode(bytes);
    }

    /** The key of the UTF-8 of a text. Half of a surrogate pair becomes the three bytes of its number, so that different texts are different keys. */
    public static Key of(String text) {
        return new Key(Bytes.of(Objects.requireNonNull(text, "key: must not be null: name the caller, such as the user or the address")));
    }

    /** A key of bytes, which are copied. */
    public static Key of(byte[] bytes) {
        return new Key(bytes.clone());
    }

    /** The bytes that are sent. */
    byte[] sent() {
        return Bytes.shortened(bytes);
    }

    /** The bytes as characters, for keys in memory. */
    String text() {
        return new String(bytes, StandardCharsets.ISO_8859_1);
    }

    boolean isEmpty() {
        return bytes.length == 0;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Key key && Arrays.equals(bytes, key.bytes);
    }

    @Override
    public int hashCode() {
        return hash;
    }

    /** The key as text: bytes that are no UTF-8 are replaced. */
    @Override
    public String toString() {
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
