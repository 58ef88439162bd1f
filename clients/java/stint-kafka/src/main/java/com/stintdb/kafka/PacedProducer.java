package com.stintdb.kafka;

import com.stintdb.client.DeniedException;
import com.stintdb.client.InvalidException;
import com.stintdb.client.Leases;
import com.stintdb.client.Result;
import java.lang.reflect.Method;
import java.time.Duration;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.InterruptException;
import org.jspecify.annotations.Nullable;

/** A producer that takes the tokens of each record before it hands it on. */
final class PacedProducer<K, V> extends Forwarder<Producer<K, V>> {
    private final Pacing pacing;
    private final Leases leases;

    PacedProducer(Pacing pacing, Producer<K, V> inner) {
        super(Producer.class, inner);
        this.pacing = pacing;
        this.leases = pacing.limiter.lease();
    }

    @Override
    public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] arguments) throws Throwable {
        if (method.getName().equals("send") && arguments != null && arguments[0] instanceof ProducerRecord<?, ?> record) {
            take(pacing.isBytes ? Size.of(record) : 1);
        } else if (method.getName().equals("close")) {
            leases.closeAsync();
        }
        return forward(method, arguments);
    }

    private void take(long tokens) {
        if (tokens > pacing.limit.capacity()) {
            throw new InvalidException("a record has " + tokens + " bytes, and the limit never more at once than " + pacing.limit.capacity()
                    + ": give it a larger capacity, such as Limit.perSecond(n).burst(" + tokens + ")");
        }
        Result result = leases.allowNow(pacing.key, pacing.limit, tokens);
        if (result.allowed()) {
            return;
        }
        if (pacing.maxWait.isZero()) {
            throw throttled(result, result.cause());
        }
        try {
            pacing.limiter.blocking().await(pacing.key, pacing.limit, tokens, pacing.maxWait);
        } catch (DeniedException e) {
            throw throttled(pacing.limiter.blocking().peek(pacing.key, pacing.limit, tokens), e);
        } catch (InterruptedException e) {
            throw new InterruptException(e);
        }
    }

    private ThrottlingException throttled(Result denied, @Nullable Throwable cause) {
        Duration after = Duration.ofMillis(Math.max(0, denied.retryAfterMs()));
        return new ThrottlingException("no tokens of \"" + pacing.key + "\", " + pacing.limit + ", within " + pacing.maxWait.toMillis() + " ms: try again after "
                + after.toMillis() + " ms, or wait longer by maxWait", after, cause);
    }
}
