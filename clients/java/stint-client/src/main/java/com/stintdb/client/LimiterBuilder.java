package com.stintdb.client;

import com.stintdb.client.internal.Asker;
import com.stintdb.client.internal.Breaker;
import com.stintdb.client.internal.Rates;
import com.stintdb.client.lettuce.LettuceDriver;
import com.stintdb.client.spi.Driver;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisURI;
import io.lettuce.core.resource.ClientResources;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The settings of a {@link Limiter}. Begin with {@link Limiter#builder}. Its methods throw {@link InvalidException} for values out of their ranges. */
public final class LimiterBuilder {
    private static final System.Logger LOG = System.getLogger("com.stintdb.client");

    private final List<RedisURI> addresses;
    private final @Nullable Driver driver;
    final Policy whenDown;
    final Map<String, List<Limit>> assumed = new HashMap<>();
    private Duration timeout = Duration.ofMillis(20);
    private Duration connectTimeout = Duration.ofSeconds(5);
    private int failures = 5;
    private Duration coolDown = Duration.ofMillis(250);
    private ClientOptions clientOptions = ClientOptions.create();
    private @Nullable ClientResources resources;

    @Nullable Consumer<Decision> onDecision;

    private BiConsumer<Boolean, @Nullable StintException> onBreaker = (isOpen, cause) -> {
        if (isOpen) {
            LOG.log(System.Logger.Level.WARNING, "Stint does not answer, so the fallback decides: " + reasonOf(cause));
        } else {
            LOG.log(System.Logger.Level.INFO, "Stint answers again");
        }
    };

    Consumer<UnauthenticatedException> onRefusedLogin =
            refused -> LOG.log(System.Logger.Level.ERROR, "Stint refuses the login, so the fallback decides: " + refused.getMessage());

    LimiterBuilder(List<RedisURI> addresses, @Nullable Driver driver, Policy whenDown) {
        this.addresses = addresses;
        this.driver = driver;
        this.whenDown = whenDown;
    }

    /** The longest time that a call waits for Stint, 20 ms by default, in whole milliseconds. */
    public LimiterBuilder timeout(Duration timeout) {
        Rates.milliseconds(timeout, "timeout");
        this.timeout = timeout;
        return this;
    }

    /**
     * The longest time that the first calls wait for a connection, before their timeout begins, and the longest time of each attempt to connect: 5 s by
     * default, because a Java program is slow while it starts, in whole milliseconds. Later calls do not wait for a connection.
     */
    public LimiterBuilder connectTimeout(Duration timeout) {
        Rates.milliseconds(timeout, "connectTimeout");
        this.connectTimeout = timeout;
        return this;
    }

    /**
     * The circuit breaker.
     *
     * @param failures in a row that open it, 5 by default; {@link Integer#MAX_VALUE} for never
     * @param coolDown before each probe, 250 ms by default: from half of it to half as much again
     */
    public LimiterBuilder breaker(int failures, Duration coolDown) {
        if (failures < 1) {
            throw new InvalidException("failures: must be an integer above 0, got " + failures);
        }
        Rates.milliseconds(coolDown, "coolDown");
        this.failures = failures;
        this.coolDown = coolDown;
        return this;
    }

    /** Called when the circuit breaker opens, with the cause, or closes. It must not block. By default an opening is a warning in the log, and a closing an information. */
    public LimiterBuilder onBreaker(BiConsumer<Boolean, @Nullable StintException> listener) {
        this.onBreaker = listener;
        return this;
    }

    /** Called after each decision, for metrics, on the thread that completes it. It must not block. */
    public LimiterBuilder onDecision(Consumer<Decision> listener) {
        this.onDecision = listener;
        return this;
    }

    /** Called when the server refuses the login, at most once in ten seconds. It must not block. By default it is an error in the log. */
    public LimiterBuilder onRefusedLogin(Consumer<UnauthenticatedException> listener) {
        this.onRefusedLogin = listener;
        return this;
    }

    /** For {@link Policy#localShare}: the limits that a policy on the server has, in its order. */
    public LimiterBuilder assumed(String policy, Limit... limits) {
        assumed.put(policy, List.of(limits));
        return this;
    }

    /** Lettuce's options, such as those of TLS. Those that would send commands twice or queue them are replaced. */
    public LimiterBuilder clientOptions(ClientOptions options) {
        this.clientOptions = options;
        return this;
    }

    /** Lettuce's threads, shared with other clients. The application ends them, after the limiters. By default a limiter has its own. */
    public LimiterBuilder resources(ClientResources resources) {
        this.resources = resources;
        return this;
    }

    /** The limiter. It connects in the background. */
    public Limiter build() {
        Driver used = driver != null ? driver : new LettuceDriver(addresses, connectTimeout, clientOptions, resources);
        return new Limiter(this, used);
    }

    /** The way to the server. */
    Asker asker(Driver used) {
        Breaker.Listener listener = onBreaker::accept;
        return new Asker(used, new Asker.Settings(timeout.toMillis(), connectTimeout.toMillis(), failures, coolDown.toMillis()), listener);
    }

    static String reasonOf(@Nullable StintException cause) {
        return cause == null ? "" : String.valueOf(cause.getMessage());
    }
}
