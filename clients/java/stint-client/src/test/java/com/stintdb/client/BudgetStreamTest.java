package com.stintdb.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Streams that end at their budget, on a budget in memory. */
class BudgetStreamTest {
    private static final StreamOptions OPTIONS = StreamOptions.usual().id("s").step(100);

    private static BudgetStream open(FakeBudget budget, StreamOptions options) {
        return budget.limiter.blocking().streaming("llm", "ann", options);
    }

    private static long sum(List<Integer> sizes) {
        return sizes.stream().mapToLong(Integer::longValue).sum();
    }

    @Test
    void toItsEnd() {
        try (FakeBudget budget = new FakeBudget(1000, Policy.failClosed())) {
            BudgetStream stream = open(budget, OPTIONS.prompt(30).field("team", "a").keep(Keep.tokens(5)));
            assertEquals(List.of("s", "30", "130"), List.of(stream.id(), "" + stream.used(), "" + stream.reserved()));
            try (stream) {
                assertEquals(List.of(20, 30), stream.wrap(Stream.of(20, 30), Integer::longValue).toList());
            }
            assertEquals(80, stream.used());
            assertEquals(List.of(new Charge(80, 100_000, 920, 5)), stream.charges());
            assertNull(stream.error());
            assertEquals(List.of("RL.CHECK llm ann 130 KEEP 5 AS s FOR 600000ms WITH team a", "RL.SETTLE s 80"), budget.sent());
            assertThrows(InvalidException.class, () -> stream.add(1));
        }
    }

    @Test
    void usageOfTheProvider() {
        for (long usage : new long[] {40, 900}) { // less than was reserved, and more
            try (FakeBudget budget = new FakeBudget(1000, Policy.failClosed())) {
                try (BudgetStream stream = open(budget, OPTIONS)) {
                    stream.add(50);
                    stream.settle(usage);
                    stream.settle(usage);
                    assertThrows(InvalidException.class, () -> stream.settle(usage + 1));
                }
                assertEquals(1000 - usage, budget.left);
            }
        }
    }

    @Test
    void errors() {
        try (FakeBudget budget = new FakeBudget(1000, Policy.failClosed())) {
            AtomicBoolean isClosed = new AtomicBoolean();
            Stream<Integer> broken = Stream.of(20, 30, -1).map(BudgetStreamTest::orFail).onClose(() -> isClosed.set(true));
            assertThrows(CancellationException.class, () -> {
                try (BudgetStream stream = open(budget, OPTIONS)) {
                    stream.wrap(broken, Integer::longValue).forEach(size -> {});
                }
            });
            assertTrue(isClosed.get());
            assertEquals(950, budget.left);
        }
        try (FakeBudget budget = new FakeBudget(1000, Policy.failClosed())) { // before the first chunk
            assertThrows(CancellationException.class, () -> {
                try (BudgetStream stream = open(budget, OPTIONS.prompt(30))) {
                    stream.wrap(Stream.of(-1).map(BudgetStreamTest::orFail), Integer::longValue).forEach(size -> {});
                }
            });
            assertEquals(1000, budget.left);
            assertEquals(List.of(""), budget.sent("RL.CANCEL"));
        }
    }

    private static int orFail(int size) {
        if (size < 0) {
            throw new CancellationException();
        }
        return size;
    }

    @Test
    void closedEarly() {
        /** An iterator that must be closed. */
        class Source implements Iterator<Integer>, AutoCloseable {
            private boolean isClosed;

            @Override
            public boolean hasNext() {
                return true;
            }

            @Override
            public Integer next() {
                return 20;
            }

            @Override
            public void close() throws Exception {
                isClosed = true;
                throw new Exception("it cannot be closed, which is logged"); // and the stream is charged
            }
        }
        try (FakeBudget budget = new FakeBudget(1000, Policy.failClosed())) {
            Source source = new Source();
            try (BudgetStream stream = open(budget, OPTIONS)) {
                Iterator<Integer> chunks = stream.wrap(source, Integer::longValue);
                assertTrue(chunks.hasNext() && chunks.next() == 20 && chunks.next() == 20);
            }
            assertTrue(source.isClosed);
            assertEquals(960, budget.left);
        }
    }

    @Test
    void endsAtTheBudget() {
        try (FakeBudget budget = new FakeBudget(1000, Policy.failClosed())) {
            List<Integer> got = new ArrayList<>();
            AtomicBoolean isClosed = new AtomicBoolean();
            BudgetSpentException error = assertThrows(BudgetSpentException.class, () -> {
                try (BudgetStream stream = open(budget, OPTIONS)) {
                    stream.wrap(Collections.nCopies(50, 30).stream().onClose(() -> isClosed.set(true)), Integer::longValue).forEach(got::add);
                }
            });
            assertEquals("the budget is spent after 990 tokens: try again in 2 s", error.getMessage());
            assertEquals(List.of(990L, 990L, 10L), List.of(error.used(), sum(got), budget.left));
            assertEquals(1500, error.result().retryAfterMs());
            assertTrue(isClosed.get());
            assertEquals(List.of("990"), budget.sent("RL.SETTLE"));
        }
        try (FakeBudget budget = new FakeBudget(100, Policy.failClosed());
                BudgetStream stream = open(budget, OPTIONS)) {
            BudgetSpentException error = assertThrows(BudgetSpentException.class, () -> stream.add(101));
            assertSame(error, assertThrows(BudgetSpentException.class, () -> stream.add(1)));
        }
    }

    @Test
    void chunksAtOnce() {
        try (FakeBudget budget = new FakeBudget(200_000, Policy.failClosed())) {
            try (BudgetStream stream = open(budget, OPTIONS)) {
                CompletableFuture<?>[] chunks = IntStream.range(0, 1000)
                        .mapToObj(i -> CompletableFuture.runAsync(() -> stream.add(i % 100)))
                        .toArray(CompletableFuture<?>[]::new);
                CompletableFuture.allOf(chunks).join();
                assertEquals(49_500, stream.used());
            }
            assertEquals(150_500, budget.left);
            assertTrue(budget.sent("RL.EXTEND").size() < 40, budget.sent("RL.EXTEND")::toString);
        }
    }

    @Test
    void opening() {
        try (FakeBudget budget = new FakeBudget(30, Policy.failClosed())) {
            BudgetSpentException error = assertThrows(BudgetSpentException.class, () -> open(budget, OPTIONS.prompt(30)));
            assertEquals(0, error.used());
            assertEquals(1, budget.sent().size());
        }
        try (FakeBudget budget = new FakeBudget(50, Policy.failClosed())) { // with the rest of the budget
            List<Keyed> limits = List.of(Keyed.of("k", Limit.window(100_000, Duration.ofDays(10))));
            try (BudgetStream stream = budget.limiter.blocking().streaming(limits, OPTIONS.prompt(30))) {
                stream.add(10);
                stream.add(10);
            }
            assertTrue(budget.sent().get(1).contains(" TOKENS 31 AS s "), budget.sent()::toString);
            assertEquals(0, budget.left);
        }
        try (FakeBudget budget = new FakeBudget(1000, Policy.failClosed())) { // its reply may have been lost
            budget.isDown = true;
            assertThrows(BudgetSpentException.class, () -> open(budget, OPTIONS));
            assertTrue(budget.sent("RL.CANCEL").size() > 0);
        }
    }

    @Test
    void serverThatIsGone() {
        try (FakeBudget budget = new FakeBudget(1000, Policy.failClosed())) {
            BudgetStream stream = open(budget, OPTIONS);
            stream.add(40);
            budget.isDown = true;
            stream.add(60); // the extension in advance failed
            BudgetSpentException error = assertThrows(BudgetSpentException.class, () -> stream.add(1));
            assertEquals("the budget is spent after 100 tokens: gone", error.getMessage());
            stream.close();
            assertInstanceOf(UnavailableException.class, stream.error());
            budget.isDown = false;
            assertEquals(100, budget.limiter.blocking().settle(stream.id(), stream.used()).get(0).charged());
        }
        try (FakeBudget budget = new FakeBudget(5000, Policy.failOpen())) {
            try (BudgetStream stream = open(budget, OPTIONS)) {
                budget.isDown = true;
                for (int i = 0; i < 10; i++) {
                    stream.add(50);
                }
                budget.isDown = false;
                stream.add(500);
            }
            assertEquals(4000, budget.left);
            assertTrue(budget.sent("RL.EXTEND").stream().allMatch(words -> words.startsWith("1 ") || words.startsWith("2 ")), budget.sent()::toString);
        }
        try (FakeBudget budget = new FakeBudget(1000, Policy.localShare(0.001))) {
            List<Keyed> limits = List.of(Keyed.of("k", Limit.window(100_000, Duration.ofDays(10))));
            BudgetStream stream = budget.limiter.blocking().streaming(limits, OPTIONS);
            budget.isDown = true;
            BudgetSpentException error =
                    assertThrows(BudgetSpentException.class, () -> stream.wrap(Collections.nCopies(30, 10).stream(), Integer::longValue).forEach(i -> {}));
            assertEquals(Source.LOCAL, error.result().source());
            assertEquals(200, stream.used()); // 100 of the server, and 100 of the share
        }
    }

    @Test
    void lostReply() {
        try (FakeBudget budget = new FakeBudget(1000, Policy.failClosed(), Duration.ofSeconds(30))) {
            BudgetStream stream = open(budget, OPTIONS);
            budget.lost = 1;
            stream.add(60);
            assertEquals(Collections.nCopies(2, "1 100 UPTO FOR 600000ms"), budget.sent("RL.EXTEND"));
            assertEquals(200, stream.reserved());
            assertEquals(800, budget.left);
            budget.forgets = true;
            RefusedException error = assertThrows(RefusedException.class, () -> stream.add(200));
            assertTrue(error.getMessage().contains("remember it for longer"), error.getMessage());
            stream.close();
            assertNull(stream.charges());
            assertInstanceOf(RefusedException.class, stream.error());
        }
    }

    @Test
    void estimates() {
        try (FakeBudget budget = new FakeBudget(100_000, Policy.failClosed())) {
            StreamOptions options = StreamOptions.usual().step(10).prompt(5);
            assertEquals(15, reservedFor(budget, options, 0));
            for (int used : new int[] {1000, 20, 21, 22, 20, 20, 20, 20, 20}) {
                reservedFor(budget, options, used);
            }
            assertEquals(26, reservedFor(budget, options, 0)); // 163 / 8, rounded up; the first is forgotten
            reservedFor(budget, options, 10_000);
            assertEquals(165, reservedFor(budget, options, 0)); // sixteen steps
            BudgetStream other = budget.limiter.blocking().streaming("llm", "bob", options);
            assertEquals(15, other.reserved());
            other.close();
        }
    }

    /** The tokens that a stream reserves at first, which then uses so many; without any, it is given back. */
    private static long reservedFor(FakeBudget budget, StreamOptions options, long used) {
        try (BudgetStream stream = open(budget, options)) {
            long reserved = stream.reserved();
            if (used > 0) {
                stream.add(used);
            }
            return reserved;
        }
    }

    @Test
    void settledOnce() {
        try (FakeBudget budget = new FakeBudget(1000, Policy.failClosed())) {
            BudgetStream stream = open(budget, OPTIONS);
            stream.add(50);
            CompletableFuture<?> first = stream.end().toCompletableFuture();
            stream.close();
            stream.close();
            assertTrue(first.isDone());
            assertEquals(List.of("50"), budget.sent("RL.SETTLE"));
        }
    }

    @Test
    void wrongArguments() {
        StreamOptions usual = StreamOptions.usual();
        for (Runnable wrong : List.<Runnable>of(
                () -> usual.step(0), () -> usual.step(2_000_000_000), () -> usual.prompt(-1), () -> usual.remember(Duration.ZERO),
                () -> Extension.of(0, 5), () -> Extension.of(1, 0))) {
            assertThrows(InvalidException.class, wrong::run);
        }
    }
}
