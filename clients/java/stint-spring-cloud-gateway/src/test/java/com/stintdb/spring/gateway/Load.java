package com.stintdb.spring.gateway;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.LongStream;

/** Callers that each send one request after another on a connection of their own. */
final class Load {
    private static final int CALLERS = 16;

    private Load() {}

    /** Sends requests to a port, and returns the nanoseconds that each took, sorted. It throws if an answer is not 200. */
    static long[] run(int port, int requests) throws InterruptedException {
        long[][] times = new long[CALLERS][requests / CALLERS];
        Thread[] threads = new Thread[CALLERS];
        Throwable[] failure = new Throwable[1];
        for (int i = 0; i < CALLERS; i++) {
            int caller = i;
            threads[i] = new Thread(() -> call(port, caller, times[caller]));
            threads[i].setUncaughtExceptionHandler((thread, error) -> failure[0] = error);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (failure[0] != null) {
            throw new IllegalStateException(failure[0]);
        }
        return Arrays.stream(times).flatMapToLong(LongStream::of).sorted().toArray();
    }

    private static void call(int port, int caller, long[] times) {
        byte[] request = ("GET /x HTTP/1.1\r\nHost: gateway\r\nX-User: user" + caller + "\r\n\r\n").getBytes(StandardCharsets.US_ASCII);
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.setTcpNoDelay(true);
            InputStream in = new BufferedInputStream(socket.getInputStream());
            OutputStream out = socket.getOutputStream();
            for (int i = 0; i < times.length; i++) {
                long begun = System.nanoTime();
                out.write(request);
                readResponse(in);
                times[i] = System.nanoTime() - begun;
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void readResponse(InputStream in) throws IOException {
        String status = line(in);
        if (!status.startsWith("HTTP/1.1 200")) {
            throw new IOException("got " + status);
        }
        int length = 0;
        for (String field = line(in); !field.isEmpty(); field = line(in)) {
            if (field.toLowerCase(Locale.ROOT).startsWith("content-length:")) {
                length = Integer.parseInt(field.substring(15).strip());
            }
        }
        in.readNBytes(length);
    }

    private static String line(InputStream in) throws IOException {
        StringBuilder text = new StringBuilder();
        for (int c = in.read(); c != '\n'; c = in.read()) {
            if (c < 0) {
                throw new IOException("the gateway closed the connection");
            }
            text.append((char) c);
        }
        return text.toString().strip();
    }
}
