package com.stintdb.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.stintdb.client.Purse.Moment;
import com.stintdb.client.Purse.Operation;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Readings of two clocks by a process that is stopped between them. */
class MomentTest {
    private long clockMs = 1000;
    private int readings;

    @Test
    void pauseMakesNoOperationYounger() {
        for (int reading = 0; reading <= 4; reading++) {
            readings = 0;
            Purse purse = new Purse("h");
            Operation op = purse.lend(moment(reading), Key.of("k"), Limit.perSecond(1000), 10);
            long sentAt = clockMs;
            purse.hear(op, List.of(10L, 1000L, 0L, 10_000L, op.number()));
            clockMs += 1000;
            double age = purse.age(moment(reading));
            assertEquals(4, readings);
            assertTrue(age >= clockMs - sentAt - 1 && age <= clockMs, age + " ms after " + (clockMs - sentAt));
        }
    }

    /** A moment of a process that is stopped before one of its readings. */
    private Moment moment(int stopsAt) {
        return Moment.read(() -> read(stopsAt) * 1_000_000, () -> read(stopsAt));
    }

    private long read(int stopsAt) {
        clockMs += ++readings == stopsAt ? 118_000 : 1;
        return clockMs;
    }
}
