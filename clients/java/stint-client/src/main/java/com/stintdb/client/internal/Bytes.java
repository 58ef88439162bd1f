package com.stintdb.client.internal;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** The bytes of words. */
public final class Bytes {
    private static final int MOST = 200;
    private static final int KEPT = 136;

    private Bytes() {}

    /** Text as UTF-8, in which half of a surrogate pair is the three bytes of its number. Java writes a question mark for each. */
    public static byte[] of(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (Character.isSurrogate(text.charAt(i))) {
                return withSurrogates(text);
            }
        }
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] withSurrogates(String text) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        text.codePoints().forEach(code -> {
            if (code >= Character.MIN_SURROGATE && code <= Character.MAX_SURROGATE) {
                bytes.write(0xe0 | code >> 12);
                bytes.write(0x80 | code >> 6 & 63);
                bytes.write(0x80 | code & 63);
            } else {
                bytes.writeBytes(Character.toString(code).getBytes(StandardCharsets.UTF_8));
            }
        });
        return bytes.toByteArray();
    }

    /** A key of more than 200 bytes as all clients send it: its first 136 bytes, ":sha256:", and the SHA-256 of all bytes in hexadecimal. */
    public static byte[] shortened(byte[] bytes) {
        if (bytes.length <= MOST) {
            return bytes;
        }
        byte[] digest;
        try {
            digest = MessageDigest.getInstance("SHA-256").digest(bytes);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(bytes, 0, KEPT);
        out.writeBytes((":sha256:" + HexFormat.of().formatHex(digest)).getBytes(StandardCharsets.US_ASCII));
        return out.toByteArray();
    }
}
