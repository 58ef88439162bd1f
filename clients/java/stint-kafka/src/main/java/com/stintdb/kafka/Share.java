package com.stintdb.kafka;

import com.stintdb.client.Limit;
import com.stintdb.client.Limiter;
import com.stintdb.client.Loan;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * The part of one quota that this broker may use. Stint has a token bucket for the quota, and each broker borrows what it needs for a period from it: the bound that Kafka
 * holds the clients of this broker to is the tokens of the loan for a period. What was used goes into the next statement.
 *
 * <p>Stint lends at most an eighth of the tokens that are left. So brokers in demand soon have equal parts, and one that needs less leaves the rest to the others. The
 * bucket holds ten periods: a broker alone gets all of the quota by such eighths. Where a period ends late, because the machine is busy or Stint slow, the broker borrows
 * for the time that it took, once for each period in it.
 */
final class Share {
    private static final double MOST_QUOTA = 1e11; // the largest that Stint counts for ten periods
    private static final int PERIODS = 10; // in the bucket
    private static final double PUNCTUAL = 0.1; // of a period: one that ends later than that is a late one
    private static final int MOST_LOANS = 4; // at the end of a period
    private static final int LEAST_PART = 10; // of this broker's equal part, which it has also without tokens: Kafka can delay requests, but not refuse them

    private static final double STEP = 0.02; // the bound changes by this part of it at least: Kafka logs each change
    private static final double NONE = Long.MAX_VALUE; // as Kafka has no quota

    private final double quota; // bytes a second
    private final double periodS;
    private final double windowS;
    private final Loan loan;
    private volatile double bound; // bytes a second
    private volatile boolean isUsed; // since the last period
    // Of the thread that ends periods:
    private int quiet; // periods without use
    private double elapsedS; // of which no statement has told yet
    private long owed; // bytes that were used without tokens, at most those of Kafka's windows
    private CompletionStage<?> turn = CompletableFuture.completedFuture(null);

    Share(Limiter limiter, String key, double quota, QuotaSettings settings, int brokers) {
        this.quota = quota;
        this.periodS = settings.periodMs / 1000.0;
        this.windowS = settings.windowS;
        this.bound = quota / brokers;
        long rate = (long) Math.max(1, Math.min(quota, MOST_QUOTA));
        this.loan = limiter.loan(key, Limit.perSecond(rate).burst(Math.max(PERIODS, (long) (PERIODS * rate * periodS))));
    }

    double quota() {
        return quota;
    }

    /** The bound of the clients of this broker, in bytes a second. */
    double bound() {
        return bound;
    }

    /** A client sent a request. */
    void use() {
        isUsed = true;
    }

    /**
     * Ends a period: states what was used in it, and borrows for the next one. The stage has whether the bound has changed.
     *
     * @param rate of this broker's clients, in bytes a second
     * @param seconds that the period took
     * @param brokers in the cluster
     */
    CompletionStage<Boolean> endPeriod(double rate, double seconds, int brokers, WhenDown whenDown) {
        elapsedS += seconds;
        if (!turn.toCompletableFuture().isDone()) { // Stint is slow: the next end of a period states both periods by the rate then
            return CompletableFuture.completedFuture(false);
        }
        int loans = (int) Math.max(1, Math.min(Math.ceil(elapsedS / periodS - PUNCTUAL), MOST_LOANS));
        double nextS = loans * periodS;
        double equal = quota / brokers;
        quiet = isUsed || rate > 0 ? 0 : quiet + 1;
        isUsed = false;
        owed = Math.min(owed + (long) Math.ceil(rate * elapsedS), (long) (quota * windowS));
        owed -= loan.spend(owed);
        elapsedS = 0;
        CompletionStage<Boolean> told;
        if (quiet > 0) {
            told = loan.giveBack().handle((held, error) -> moveTo(equal));
        } else {
            double wanted = Math.min(quota, Math.max(2 * rate, equal));
            double back = owed / windowS; // Kafka looks at the mean of its windows: a faster correction would swing
            double least = Math.max(equal / LEAST_PART, rate / 2); // Kafka would stop a client for minutes that finds a bound far below its rate
            long tokens = owed + (long) Math.ceil(wanted * nextS);
            for (int i = 1; i < loans; i++) {
                loan.renew(tokens); // of its failure the last one tells
            }
            told = loan.renew(tokens).handle((held, error) -> moveTo(
                    error == null ? Math.max(held / nextS - back, least) : switch (whenDown) {
                        case FAIL_OPEN -> NONE;
                        case FAIL_CLOSED -> least;
                        case LOCAL_SHARE -> Math.max(equal, least);
                    }));
        }
        turn = told;
        return told;
    }

    private boolean moveTo(double next) {
        if (Math.abs(next - bound) < STEP * bound) {
            return false;
        }
        bound = next;
        return true;
    }

    /** Periods without use. */
    int quiet() {
        return quiet;
    }

    /** Gives everything back. */
    CompletionStage<?> end() {
        return loan.giveBack();
    }
}
