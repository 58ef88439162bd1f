package com.stintdb.bucket4j;

import com.stintdb.client.InvalidException;
import com.stintdb.client.Keyed;
import com.stintdb.client.Limit;
import io.github.bucket4j.Bandwidth;
import io.github.bucket4j.BucketConfiguration;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The limits of a bucket: a token bucket for each bandwidth. The first has the bucket's key, the others the key with ":" and their numbers. */
record Bandwidths(BucketConfiguration configuration, List<String> keys, List<Keyed> limits, long capacity) {
    static Bandwidths of(String key, BucketConfiguration configuration) {
        List<String> keys = new ArrayList<>();
        List<Keyed> limits = new ArrayList<>();
        long capacity = Long.MAX_VALUE;
        for (Bandwidth bandwidth : configuration.getBandwidths()) {
            String own = keys.isEmpty() ? key : key + ":" + keys.size();
            keys.add(own);
            limits.add(Keyed.of(own, limit(bandwidth)));
            capacity = Math.min(capacity, bandwidth.getCapacity());
        }
        return new Bandwidths(configuration, List.copyOf(keys), List.copyOf(limits), capacity);
    }

    private static Limit limit(Bandwidth bandwidth) {
        if (!bandwidth.isGready()) {
            throw new InvalidException("refillIntervally: Stint refills a bucket evenly: use refillGreedy, or Limit.window of stint-client, got " + bandwidth);
        }
        if (bandwidth.getInitialTokens() != bandwidth.getCapacity()) {
            throw new InvalidException("initialTokens: a new bucket of Stint is full, got " + bandwidth.getInitialTokens() + " of " + bandwidth.getCapacity());
        }
        return Limit.per(bandwidth.getRefillTokens(), Duration.ofNanos(bandwidth.getRefillPeriodNanos())).burst(bandwidth.getCapacity());
    }
}
