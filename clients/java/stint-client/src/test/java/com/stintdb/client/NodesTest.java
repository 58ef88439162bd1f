package com.stintdb.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.stintdb.client.UnavailableException.Reason;
import io.lettuce.core.RedisURI;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Several addresses, redirections, and commands that are sent again. */
class NodesTest {
    static final Duration LONG = Duration.ofSeconds(30);
    static final String GRANTED = "*5\r\n:1\r\n:20\r\n:19\r\n:0\r\n:100";

    private static Limiter limiter(String... addresses) {
        return Limiter.builder(Policy.failClosed(), addresses).timeout(LONG).connectTimeout(LONG).build();
    }

    @Test
    void redirectionIsFollowedAndKept() throws Exception {
        try (Scripted follower = new Scripted();
                Scripted leader = new Scripted();
                Limiter limiter = limiter(follower.url())) {
            follower.reply = "-MOVED 1 " + leader.url().substring("redis://".length());
            leader.reply = GRANTED;
            for (int i = 0; i < 3; i++) {
                assertEquals(Source.SERVER, limiter.blocking().allow("k", Limit.perSecond(20)).source());
            }
            assertEquals(1, follower.commands.size());
            assertEquals(3, leader.commands.size());
        }
    }

    /** It names the node that was given, which gets no second connection. */
    @Test
    void redirectionToAnIpv6AddressIsFollowed() throws Exception {
        InetAddress loopback = InetAddress.getByName("::1");
        assumeTrue(NetworkInterface.getByInetAddress(loopback) != null);
        try (Scripted follower = new Scripted();
                Scripted leader = new Scripted(loopback);
                Limiter limiter = Limiter.builder(Policy.failClosed(), RedisURI.create(follower.url()), RedisURI.create("::1", leader.port()))
                        .timeout(LONG).connectTimeout(LONG).build()) {
            leader.reply = "-CLUSTERDOWN no leader";
            follower.reply = GRANTED;
            while (limiter.blocking().allow("k", Limit.perSecond(20)).source() != Source.SERVER) {
                Pause.of(1); // until the follower is asked, whichever connected first
            }
            leader.reply = GRANTED;
            follower.reply = "-MOVED 1 [::1]:" + leader.port();
            for (int i = 0; i < 3; i++) {
                assertEquals(Source.SERVER, limiter.blocking().allow("k", Limit.perSecond(20)).source());
            }
            assertEquals(1, leader.connections());
        }
    }

    @Test
    void nextNodeIsAskedIfOneIsGoneOrCannotServe() throws Exception {
        try (Scripted one = new Scripted();
                Scripted other = new Scripted();
                Limiter limiter = limiter("redis://127.0.0.1:1", one.url(), other.url())) {
            one.reply = "-CLUSTERDOWN no leader";
            other.reply = "-CLUSTERDOWN no leader";
            assertEquals(Source.FALLBACK, limiter.blocking().allow("k", Limit.perSecond(20)).source());
            one.reply = GRANTED;
            other.reply = GRANTED;
            for (int i = 0; i < 3; i++) {
                assertEquals(Source.SERVER, limiter.blocking().allow("k", Limit.perSecond(20)).source());
            }
            assertEquals(4, one.commands.size() + other.commands.size()); // each was sent once
        }
    }

    /** A command is sent once, but one with an id again until it is answered. */
    @Test
    void onlyRequestsWithAnIdAreRepeated() {
        AtomicInteger sent = new AtomicInteger();
        FakeDriver driver = new FakeDriver(words -> sent.incrementAndGet() % 3 != 0
                ? CompletableFuture.failedFuture(new UnavailableException(Reason.CONNECTION, "lost"))
                : CompletableFuture.completedFuture(List.of(1L, -1L, 0L, List.of(List.of(10L, 9L, 0L)))));
        try (Limiter limiter = Limiter.builder(Policy.failOpen(), driver).timeout(LONG).build()) {
            List<Keyed> limits = List.of(Keyed.of("a", Limit.perSecond(10)));
            assertEquals(Source.SERVER, limiter.blocking().all(limits, Request.one().id("id", LONG)).source());
            assertEquals(3, sent.get());
            assertEquals(Source.FALLBACK, limiter.blocking().all(limits, Request.one()).source());
            assertEquals(4, sent.get());
        }
    }

    /** More requests than may wait are decided by the fallback at once, and the others at their deadline. */
    @Test
    void waitingRequestsAreBounded() {
        FakeDriver driver = new FakeDriver(words -> new CompletableFuture<>()); // no reply
        try (Limiter limiter = Limiter.builder(Policy.failOpen(), driver).timeout(LONG).breaker(Integer.MAX_VALUE, LONG).build()) {
            for (int i = 0; i < 20_000; i++) {
                limiter.allow("k", Limit.perSecond(1));
            }
            Result result = limiter.blocking().allow("k", Limit.perSecond(1));
            assertTrue(result.cause() instanceof UnavailableException e && e.reason() == Reason.OVERLOADED, result.toString());
        }
        try (Limiter limiter = Limiter.builder(Policy.failOpen(), driver).build()) {
            Result result = limiter.blocking().allow("k", Limit.perSecond(1));
            assertTrue(result.cause() instanceof UnavailableException e && e.reason() == Reason.TIMEOUT, result.toString());
        }
    }

    /** A call ends although the limiter is closed before there is a connection, and its threads are gone. */
    @Test
    void callsEndAfterClose() throws Exception {
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            Limiter limiter = Limiter.builder(Policy.failOpen(), "redis://127.0.0.1:" + silent.getLocalPort()).connectTimeout(Duration.ofSeconds(3)).build();
            CompletionStage<Result> call = limiter.allow("k", Limit.perSecond(1));
            limiter.close();
            assertEquals(Source.FALLBACK, call.toCompletableFuture().join().source());
        }
    }
}
