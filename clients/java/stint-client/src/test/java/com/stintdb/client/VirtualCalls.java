package com.stintdb.client;

import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A program whose calls block 1,000 virtual threads at once; its argument is an address. It prints a line when all wait, and another with the results.
 * This module is compiled for Java 17, which has no virtual threads.
 */
final class VirtualCalls {
    static final int THREADS = 1000;

    private interface Call {
        Object make(int thread) throws InterruptedException;
    }

    private VirtualCalls() {}

    public static void main(String[] arguments) throws Exception {
        Duration patience = Duration.ofMinutes(2);
        Map<String, AtomicInteger> results = new ConcurrentHashMap<>();
        try (Limiter limiter = Limiter.builder(Policy.failClosed(), arguments[0]).timeout(patience).connectTimeout(patience).build();
                Leases leases = limiter.lease()) {
            BlockingLimiter calls = limiter.blocking();
            calls.ping();
            Limit limit = Limit.perHour(THREADS);
            List<Call> kinds = List.of(
                    thread -> "allow " + calls.allow("one", limit).source(),
                    thread -> "all " + calls.all(List.of(Keyed.of("one", limit), Keyed.of("two", limit)), Request.one()).source(),
                    thread -> "await " + calls.await("three", limit, 1, patience).source(),
                    thread -> "reserving " + calls.reserving(List.of(Keyed.of("four", limit)), Request.one().id("call:" + thread, patience)).allowed(),
                    thread -> "lease " + leases.allowNow("five:" + thread, limit).allowed());
            System.out.println("connected"); // the test stops the server
            System.in.read();
            List<Thread> threads = new ArrayList<>();
            Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
            for (int i = 0; i < THREADS; i++) {
                int thread = i;
                Runnable call = () -> results.computeIfAbsent(result(kinds.get(thread % kinds.size()), thread), key -> new AtomicInteger()).incrementAndGet();
                threads.add((Thread) start.invoke(null, call));
            }
            while (!threads.stream().allMatch(thread -> thread.getState() == Thread.State.WAITING)) {
                Pause.of(5);
            }
            System.out.println("all wait");
            for (Thread thread : threads) {
                thread.join();
            }
        }
        System.out.println(new TreeMap<>(results));
    }

    private static String result(Call call, int thread) {
        try {
            return call.make(thread).toString();
        } catch (InterruptedException | RuntimeException e) {
            return e.toString();
        }
    }
}
