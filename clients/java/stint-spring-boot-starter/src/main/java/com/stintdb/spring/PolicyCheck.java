package com.stintdb.spring;

import com.stintdb.client.InvalidException;
import com.stintdb.client.Limiter;
import com.stintdb.client.RefusedException;
import com.stintdb.client.Request;
import com.stintdb.client.web.Callers;
import com.stintdb.client.web.Guard;
import java.util.LinkedHashMap;
import java.util.Map;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;

/** Asks the server, once the beans are there, for the policies that they name: a policy that is missing there would deny every request. */
final class PolicyCheck implements SmartInitializingSingleton {
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
            check(policy, place);
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
        all.forEach(this::check);
    }

    /** Without an answer of the server nothing is known, and the policy for that time decides on requests. */
    private void check(String policy, String place) {
        try {
            limiter.getObject().blocking().check(policy, Callers.ANONYMOUS, Request.one().peek());
        } catch (RefusedException e) {
            throw new InvalidException(
                    place + ": the server refuses checks by the policy \"" + policy + "\": " + e.getMessage() + ". Store it first: RL.POLICY SET " + policy + " TB " + policy + ":{} 100 100/m");
        }
    }
}
