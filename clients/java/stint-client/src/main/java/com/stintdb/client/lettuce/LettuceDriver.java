package com.stintdb.client.lettuce;

import com.stintdb.client.UnavailableException;
import com.stintdb.client.UnavailableException.Reason;
import com.stintdb.client.spi.Driver;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.DefaultClientResources;
import io.lettuce.core.resource.Transports;
import io.netty.channel.EventLoopGroup;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Sends each command to the node that leads the group of its key, and commands without a known leader to one of several addresses, always the same while it
 * answers. It goes on to the next when a connection fails, when a reply is overdue, and when a node replies that it cannot serve; it follows a MOVED reply to
 * the node that it names.
 */
public final class LettuceDriver implements Driver {
    private static final int MOST_NODES = 32; // with those that redirections name
    private static final Object HOLDING = new Object();
    private static final Pattern MOVED = Pattern.compile("MOVED [0-9]+ \\[?(.+?)]?:([0-9]+)");

    private final RedisClient client;
    private final ClientResources resources;
    private final boolean ownsResources;
    private final EventLoopGroup loops;
    private final Executor executor;
    private final List<Node> nodes = new CopyOnWriteArrayList<>();
    private final AtomicReference<Node> current;
    private final Leaders leaders = new Leaders();
    private final CompletableFuture<@Nullable Void> firstAttempt = new CompletableFuture<>();
    private volatile boolean isClosed;

    /**
     * Begins to connect.
     *
     * @param addresses of one server, or of some nodes of a cluster
     * @param connectTimeout of an attempt to connect
     * @param given Lettuce's options, such as those of TLS; those that would send commands twice or queue them are replaced
     * @param resources Lettuce's threads; null for two of its own
     */
    public LettuceDriver(List<RedisURI> addresses, Duration connectTimeout, ClientOptions given, @Nullable ClientResources resources) {
        ownsResources = resources == null;
        this.resources = resources == null ? DefaultClientResources.builder().ioThreadPoolSize(2).computationThreadPoolSize(2).build() : resources;
        loops = hold(this.resources);
        executor = this.resources.eventExecutorGroup();
        client = RedisClient.create(this.resources);
        client.setOptions(given.mutate()
                .autoReconnect(false)
                .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                .timeoutOptions(TimeoutOptions.create()) // each call has its own deadline
                .socketOptions(given.getSocketOptions().mutate().connectTimeout(connectTimeout).build())
                .build());
        for (RedisURI address : addresses) {
            nodes.add(new Node(client, withTimeout(address, connectTimeout)));
        }
        current = new AtomicReference<>(nodes.get(0));
        AtomicInteger left = new AtomicInteger(nodes.size());
        nodes.forEach(node -> node.firstAttempt.thenAccept(isConnected -> {
            if (isConnected && !firstAttempt.isDone()) {
                current.set(node);
            }
            if (isConnected | left.decrementAndGet() == 0) {
                firstAttempt.complete(null);
            }
        }));
        nodes.forEach(Node::open);
    }

    /**
     * Holds the event loops of resources until {@link #letGo}. Lettuce ends them with the last client, and one that is made at that moment gets loops that
     * have ended, with which it never connects. So a driver holds them for longer than its client, and none takes hold of them while another lets go.
     */
    private static EventLoopGroup hold(ClientResources resources) {
        synchronized (HOLDING) {
            return resources.eventLoopGroupProvider().allocate(Transports.eventLoopGroupClass());
        }
    }

    private void letGo() {
        synchronized (HOLDING) {
            resources.eventLoopGroupProvider().release(loops, 0, 1, TimeUnit.SECONDS);
        }
    }

    private static RedisURI withTimeout(RedisURI address, Duration timeout) {
        RedisURI copy = RedisURI.builder(address).build();
        copy.setTimeout(timeout); // of the login
        if (copy.getHost() != null && copy.getHost().startsWith("[")) { // an IPv6 address, which CLUSTER SLOTS shows without brackets
            copy.setHost(copy.getHost().substring(1, copy.getHost().length() - 1));
        }
        return copy;
    }

    @Override
    public CompletableFuture<?> firstAttempt() {
        return firstAttempt;
    }

    @Override
    public CompletableFuture<@Nullable Object> send(byte[][] words) {
        CompletableFuture<@Nullable Object> reply = new CompletableFuture<>();
        send(words, reply, nodeFor(words), nodes.size() + 1);
        return reply;
    }

    /** The node that leads the key of a command, or the current one if none is known or it is paused. */
    private Node nodeFor(byte[][] words) {
        int leader = leaders.of(words);
        return leader < 0 || nodes.get(leader).isPaused() ? current.get() : nodes.get(leader);
    }

    /** Asks a node for the leaders. Those at addresses that were neither given nor named by a redirection stay unknown: they may be out of reach. */
    private void learn(Node node) {
        node.send(Leaders.SLOTS).thenAccept(reply -> leaders.learn(reply, address -> {
            for (int i = 0; i < nodes.size(); i++) {
                if (nodes.get(i).where().equals(address)) {
                    return i;
                }
            }
            return -1;
        }));
    }

    private void send(byte[][] words, CompletableFuture<@Nullable Object> reply, Node node, int attempts) {
        ask(node, words, reply).whenComplete((answer, error) -> {
            if (nodes.size() > 1 && leaders.isDue()) {
                learn(current.get());
            }
            if (error == null) {
                reply.complete(answer);
                return;
            }
            Node target = moved(error);
            if (target != null) {
                current.set(target);
                redirect(words, reply, target);
                return;
            }
            if (cannotServe(error)) {
                leave(node, false);
            }
            if (attempts > 1 && wasNotSent(error) && !reply.isDone()) {
                send(words, reply, current.get(), attempts - 1);
            } else {
                reply.completeExceptionally(error);
            }
        });
    }

    @Override
    public CompletableFuture<@Nullable Object> hold(byte[][] words) {
        Node node = new Node(client, nodeFor(words).address);
        CompletableFuture<@Nullable Object> reply = new CompletableFuture<>();
        reply.whenComplete((answer, error) -> node.end());
        node.firstAttempt.whenComplete((nothing, failure) -> {
            if (!reply.isDone()) {
                complete(reply, node.send(words));
            }
        });
        node.open();
        return reply;
    }

    /** Sends a command, which no server has carried out, to the node that a server has named. It waits for the connection to a new one. */
    private void redirect(byte[][] words, CompletableFuture<@Nullable Object> reply, Node target) {
        target.firstAttempt.whenComplete((nothing, failure) -> {
            if (!reply.isDone()) {
                complete(reply, ask(target, words, reply));
            }
        });
    }

    private static void complete(CompletableFuture<@Nullable Object> reply, CompletableFuture<@Nullable Object> sent) {
        sent.whenComplete((answer, error) -> {
            if (error == null) {
                reply.complete(answer);
            } else {
                reply.completeExceptionally(error);
            }
        });
    }

    /** Sends a command until the reply that a caller waits for is canceled, as it is overdue. */
    private CompletableFuture<@Nullable Object> ask(Node node, byte[][] words, CompletableFuture<@Nullable Object> reply) {
        CompletableFuture<@Nullable Object> sent = node.send(words);
        reply.whenComplete((nothing, error) -> {
            if (error instanceof CancellationException && !sent.isDone()) {
                leave(node, true);
                sent.cancel(false);
            }
        });
        sent.thenRun(node::answered);
        return sent;
    }

    /** The node that a MOVED reply names; null if the error is another one, or there is no room for another node. */
    private @Nullable Node moved(Throwable error) {
        Matcher words = MOVED.matcher(String.valueOf(error.getMessage()));
        if (!words.matches()) {
            return null;
        }
        leaders.distrust();
        String host = words.group(1);
        int port = Integer.parseInt(words.group(2));
        synchronized (this) {
            for (Node node : nodes) {
                if (node.address.getHost().equals(host) && node.address.getPort() == port) {
                    return node;
                }
            }
            if (isClosed || nodes.size() >= MOST_NODES) {
                return null;
            }
            RedisURI address = RedisURI.builder(nodes.get(0).address).withHost(host).withPort(port).build();
            Node node = new Node(client, withTimeout(address, nodes.get(0).address.getTimeout()));
            nodes.add(node);
            node.open();
            return node;
        }
    }

    /** Leaves a failed node alone for a while, and goes on to the node after it, unless that has been done already. */
    private void leave(Node node, boolean isOverdue) {
        node.failed(isOverdue);
        leaders.distrust();
        if (nodes.size() > 1) {
            current.compareAndSet(node, nodes.get((nodes.indexOf(node) + 1) % nodes.size()));
        }
    }

    private static boolean cannotServe(Throwable error) {
        return error instanceof UnavailableException unavailable && !String.valueOf(error.getMessage()).matches("(?s)(OOM|LIMITED) .*")
                && unavailable.reason() != Reason.OVERLOADED;
    }

    private static boolean wasNotSent(Throwable error) {
        return error instanceof UnavailableException unavailable && unavailable.reason() == Reason.NOT_SENT;
    }

    @Override
    public void renew(Duration age) {
        nodes.forEach(node -> node.renew(age));
    }

    @Override
    public Executor executor() {
        return executor;
    }

    @Override
    public void close() {
        synchronized (this) {
            if (isClosed) {
                return; // the loops are let go of once
            }
            isClosed = true;
        }
        nodes.forEach(Node::close);
        client.shutdownAsync(0, 1, TimeUnit.SECONDS).whenComplete((nothing, error) -> {
            letGo();
            if (ownsResources) {
                resources.shutdown(0, 1, TimeUnit.SECONDS);
            }
        });
    }
}
