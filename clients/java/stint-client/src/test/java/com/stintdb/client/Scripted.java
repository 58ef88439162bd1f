package com.stintdb.client;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.UnaryOperator;

/**
 * A server that answers every command by a reply that the test sets, except those with which drivers begin a connection. It answers CLUSTER apart, and does
 * not count it.
 */
final class Scripted implements AutoCloseable {
    private static final Map<String, String> BEGINNINGS = Map.of(
            "CLIENT", "+OK",
            "PING", "+PONG",
            "HELLO", "%7\r\n+server\r\n+stint\r\n+version\r\n+7.0.0\r\n+proto\r\n:3\r\n+id\r\n:1\r\n+mode\r\n+standalone\r\n+role\r\n+master\r\n+modules\r\n*0");

    private final ServerSocket listener;
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    private final Set<Socket> ignored = ConcurrentHashMap.newKeySet();
    final List<List<String>> commands = new CopyOnWriteArrayList<>();
    volatile String reply = "+OK";
    volatile UnaryOperator<String> replyByKey = key -> reply;
    volatile String slots = "-ERR This instance has cluster support disabled"; // to CLUSTER

    Scripted() throws IOException {
        this(InetAddress.getLoopbackAddress());
    }

    Scripted(InetAddress address) throws IOException {
        listener = new ServerSocket(0, 50, address);
        Thread accepting = new Thread(this::accept);
        accepting.setDaemon(true);
        accepting.start();
    }

    String url() {
        return "redis://127.0.0.1:" + port();
    }

    int port() {
        return listener.getLocalPort();
    }

    int connections() {
        return sockets.size();
    }

    /** Ignores what comes on the present connections. */
    void ignorePresent() {
        ignored.addAll(sockets);
    }

    private void accept() {
        try {
            while (true) {
                Socket socket = listener.accept();
                socket.setTcpNoDelay(true);
                sockets.add(socket);
                Thread serving = new Thread(() -> serve(socket));
                serving.setDaemon(true);
                serving.start();
            }
        } catch (IOException e) {
            // closed by the test
        }
    }

    private void serve(Socket socket) {
        try (socket) {
            DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
            OutputStream out = socket.getOutputStream();
            while (true) {
                List<String> words = new ArrayList<>();
                for (int left = number(in); left > 0; left--) {
                    byte[] word = in.readNBytes(number(in));
                    in.skipNBytes(2);
                    words.add(shown(word));
                }
                if (ignored.contains(socket)) {
                    continue;
                }
                out.write((answer(words) + "\r\n").getBytes(StandardCharsets.UTF_8));
            }
        } catch (IOException e) {
            // closed by one of both
        }
    }

    private String answer(List<String> words) {
        String name = words.get(0).toUpperCase(Locale.ROOT);
        if (name.equals("CLUSTER")) {
            return slots;
        }
        String beginning = BEGINNINGS.get(name);
        if (beginning != null) {
            return beginning;
        }
        commands.add(words);
        return words.size() > 1 ? replyByKey.apply(words.get(1)) : reply;
    }

    /** The number in a line such as "*3" or "$5". */
    private static int number(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int b = in.read(); b != '\n'; b = in.read()) {
            if (b < 0) {
                throw new IOException("closed");
            }
            line.append((char) b);
        }
        return Integer.parseInt(line.substring(1).trim());
    }

    /** A word as the vectors have it: bytes that are not UTF-8 as hex: and their digits. */
    private static String shown(byte[] word) {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(word)).toString();
        } catch (CharacterCodingException e) {
            return "hex:" + HexFormat.of().formatHex(word);
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
        for (Socket socket : sockets) {
            socket.close();
        }
    }
}
