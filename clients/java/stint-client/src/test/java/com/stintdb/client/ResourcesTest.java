package com.stintdb.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.DefaultClientResources;
import io.lettuce.core.resource.DefaultEventLoopGroupProvider;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.EventExecutorGroup;
import io.netty.util.concurrent.Promise;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Limiters with Lettuce's threads of the application. */
class ResourcesTest {
    /** Lettuce's loops, of which the last to let go waits until another thread takes hold of them, or waits for that. */
    private static final class Loops extends DefaultEventLoopGroupProvider {
        final CountDownLatch ending = new CountDownLatch(1);
        volatile @Nullable Thread other;
        volatile boolean areTakenWhileTheyEnd;
        private final AtomicInteger holders = new AtomicInteger();
        private volatile boolean areEnding;

        Loops() {
            super(2);
        }

        @Override
        public <T extends EventLoopGroup> T allocate(Class<T> type) {
            areTakenWhileTheyEnd |= areEnding;
            holders.incrementAndGet();
            return super.allocate(type);
        }

        @Override
        public Promise<Boolean> release(EventExecutorGroup group, long quietPeriod, long timeout, TimeUnit unit) {
            if (holders.decrementAndGet() > 0 || ending.getCount() == 0) {
                return super.release(group, quietPeriod, timeout, unit);
            }
            areEnding = true;
            ending.countDown();
            while (!areTakenWhileTheyEnd && !waits(other)) {
                Thread.onSpinWait();
            }
            try {
                return super.release(group, quietPeriod, timeout, unit);
            } finally {
                areEnding = false;
            }
        }

        private static boolean waits(@Nullable Thread thread) {
            return thread != null && thread.getState() == Thread.State.BLOCKED;
        }
    }

    @Test
    void limiterIsMadeWhileTheLastIsClosed() throws Exception {
        Loops loops = new Loops();
        ClientResources resources = DefaultClientResources.builder().eventLoopGroupProvider(loops).build();
        try (Scripted server = new Scripted()) {
            server.reply = NodesTest.GRANTED;
            Limiter first = limiter(server, resources);
            assertEquals(Source.SERVER, first.blocking().allow("k", Limit.perSecond(20)).source());
            daemon(first::close).start();
            assertTrue(loops.ending.await(30, TimeUnit.SECONDS));
            CompletableFuture<Limiter> made = new CompletableFuture<>();
            Thread other = daemon(() -> made.complete(limiter(server, resources)));
            loops.other = other;
            other.start();
            try (Limiter second = made.get(30, TimeUnit.SECONDS)) {
                assertFalse(loops.areTakenWhileTheyEnd);
                assertEquals(Source.SERVER, second.blocking().allow("k", Limit.perSecond(20)).source());
            }
        } finally {
            resources.shutdown(0, 1, TimeUnit.SECONDS);
        }
    }

    /** A limiter that is closed again and again lets go once, of what it holds. */
    @Test
    void limiterIsClosedAgain() throws Exception {
        Loops loops = new Loops();
        loops.ending.countDown(); // none waits
        ClientResources resources = DefaultClientResources.builder().eventLoopGroupProvider(loops).build();
        try (Scripted server = new Scripted();
                Limiter used = limiter(server, resources)) {
            server.reply = NodesTest.GRANTED;
            int holders = loops.holders.get();
            Limiter closed = limiter(server, resources);
            for (int i = 0; i < 4; i++) {
                closed.close();
            }
            assertTrue(loops.holders.get() >= holders);
            assertEquals(Source.SERVER, used.blocking().allow("k", Limit.perSecond(20)).source());
        } finally {
            resources.shutdown(0, 1, TimeUnit.SECONDS);
        }
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    }

    private static Limiter limiter(Scripted server, ClientResources resources) {
        return Limiter.builder(Policy.failClosed(), server.url()).timeout(NodesTest.LONG).connectTimeout(NodesTest.LONG).resources(resources).build();
    }
}
