package com.stintdb.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.stintdb.client.LoanHistory.Fault;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Loans never exceed the limit, in random histories. */
class LoansTest {
    private static final int HISTORIES = 1000;
    private static final int TO_FIND_A_FAULT = 20_000;

    private static final List<Limit> LIMITS = List.of(
            Limit.perSecond(1000).burst(100_000), Limit.perSecond(100).burst(50), Limit.perSecond(20).burst(1000), Limit.per(7, Duration.ofSeconds(3)).burst(300),
            Limit.window(500, "@2s"));

    @ParameterizedTest
    @EnumSource(Fault.class)
    void loansNeverExceedTheLimit(Fault fault) {
        boolean isSound = fault == Fault.NONE;
        long[] counts = new long[4];
        int exceeded = 0;
        int seed = 0;
        for (; seed < (isSound ? HISTORIES : TO_FIND_A_FAULT) && (isSound || exceeded == 0); seed++) { // one is enough to show a fault
            LoanHistory history = new LoanHistory(seed, LIMITS.get(seed % LIMITS.size()), fault);
            for (int step = 0; step < 500; step++) {
                history.step();
            }
            exceeded += history.model.excess > 0 ? 1 : 0;
            if (isSound) {
                assertEquals(0, history.model.excess, "tokens too many in history " + seed);
            }
            counts[0] += history.spent;
            counts[1] += history.ignored;
            counts[2] += history.lost;
            counts[3] += history.late;
        }
        System.out.println(exceeded + " of " + seed + " histories exceed the limit: " + fault);
        assertTrue(isSound || exceeded > 0, "no history shows the fault");
        for (long count : counts) {
            assertTrue(!isSound || count > 0, "too little happened");
        }
    }
}
