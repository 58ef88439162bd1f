package com.stintdb.spring;

import com.stintdb.client.InvalidException;
import com.stintdb.client.Limiter;
import com.stintdb.client.StintException;
import com.stintdb.client.internal.Asker;
import com.stintdb.client.web.Callers;
import com.stintdb.client.web.Guard;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;

/** Asks the server, once the beans are there, for the policies that they name: a policy that is missing there would deny every request. */
final class PolicyCheck implements SmartInitializingSingleton {
    private static final System.Logger LOG = System.getLogger("com.stintdb.client");

    private final ObjectProvider<Limiter> limiter;
    private final Map<String, String> needed = new LinkedHashMap<>(); // by policy the place that names it; guarded by itself
    private boolean hasBegun; // guarded by needed

    PolicyCheck(ObjectProvider<Limiter> limiter) {
        this.limiter = limiter;
    }

    /** Notes a policy for the check at the start, or checks it at once if that is over. */
    void needs(String policy, String place) {
        if (policy.isBlank()) {
            throw new InvalidException(place + ": needs the name of a policy on the server, got \"" + policy + "\"");
        }
        boolean isLate;
        synchronized (needed) {
            needed.putIfAbsent(policy, place);
            isLate = hasBegun;
        }
        if (isLate) {
            join(ask(policy, place));
        }
    }

    /** The guard of the filter of either kind of web application, whose policy is checked as {@link #needs} says. */
    Guard filterGuard(Limiter limiter, StintProperties properties) {
        String policy = String.valueOf(properties.filter().policy());
        needs(policy, "stint.filter.policy");
        return Guard.byPolicy(limiter, policy);
    }

    @Override
    public void afterSingletonsInstantiated() {
        Map<String, String> all;
        synchronized (needed) {
            hasBegun = true;
            all = Map.copyOf(needed);
        }
        all.entrySet().stream().map(each -> ask(each.getKey(), each.getValue())).toList().forEach(PolicyCheck::join);
    }

    /** Without an answer of the server nothing is known, and the policy for that time decides on requests. */
    private CompletableFuture<Void> ask(String policy, String place) {
        return limiter.getObject().verifyPolicy(policy, Callers.ANONYMOUS).toCompletableFuture().exceptionally(failure -> {
            StintException error = Asker.errorOf(failure);
            if (Asker.isUndecided(error)) {
                LOG.log(System.Logger.Level.WARNING, place + ": the server did not say whether it has the policy \"" + policy + "\": " + error.getMessage());
                return null;
            }
            throw new InvalidException(place + ": the server refuses checks by the policy \"" + policy + "\": " + error.getMessage()
                    + ". Store it first: RL.POLICY SET " + policy + " TB " + policy + ":{} 100 100/m");
        });
    }

    private static void join(CompletableFuture<Void> asked) {
        try {
            asked.join();
        } catch (CompletionException e) {
            throw Asker.errorOf(e);
        }
    }
}
