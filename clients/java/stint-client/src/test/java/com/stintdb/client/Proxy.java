package com.stintdb.client;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A proxy that delivers replies one byte at a time, loses bytes, or closes connections, when it is told to. */
final class Proxy implements Closeable {
    private final RealServer server;
    private final ServerSocket listener;
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    private volatile boolean refuses;
    /** Whether the bytes of the connections that there are now, and of new ones, are lost. */
    volatile boolean loses;
    /** Milliseconds before the first bytes of a connection are passed on. */
    volatile int holds;
    /** Milliseconds between two bytes of replies. */
    volatile int between;

    /** Listens at a port of the system's choice, and passes connections on to the port that the server has then. */
    Proxy(RealServer server) throws IOException {
        this.server = server;
        listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        run(() -> {
            while (true) {
                accepted(listener.accept());
            }
        });
    }

    String url() {
        return "redis://127.0.0.1:" + listener.getLocalPort();
    }

    private void accepted(Socket client) throws IOException {
        if (refuses) {
            client.close();
            return;
        }
        Socket behind;
        try {
            behind = new Socket(InetAddress.getLoopbackAddress(), server.port());
        } catch (IOException e) {
            client.close();
            return;
        }
        client.setTcpNoDelay(true);
        sockets.addAll(List.of(client, behind));
        run(() -> pass(client, behind, false));
        run(() -> pass(behind, client, true));
    }

    private void pass(Socket from, Socket to, boolean isReply) throws IOException {
        boolean isDead = false;
        Pause.of(holds);
        try (from; to) {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            byte[] bytes = new byte[64 << 10];
            for (int n = in.read(bytes); n >= 0; n = in.read(bytes)) {
                isDead |= loses && !isReply;
                int at = 0;
                for (; isReply && between > 0 && at < n; at++) {
                    out.write(bytes, at, 1);
                    Pause.of(between);
                }
                if (!isDead) {
                    out.write(bytes, at, n - at);
                }
            }
        }
    }

    void refuse(boolean refuses) throws IOException {
        this.refuses = refuses;
        closeAll();
    }

    private void closeAll() throws IOException {
        for (Socket socket : sockets) {
            socket.close();
        }
        sockets.clear();
    }

    @Override
    public void close() throws IOException {
        listener.close();
        closeAll();
    }

    private interface Work {
        void run() throws IOException;
    }

    private static void run(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (IOException e) {
                // one of both has closed the connection
            }
        });
        thread.setDaemon(true);
        thread.start();
    }
}
