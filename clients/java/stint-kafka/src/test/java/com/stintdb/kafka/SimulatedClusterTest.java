package com.stintdb.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** A quota of a cluster by Kafka's own quota managers, whose clock the test sets. */
class SimulatedClusterTest {
    // Of the quota, that brokers in demand use in a minute. How much it can be at most in the long run, the cluster itself asserts.
    private static final double LEAST = 0.9;
    private static final double MOST = 1.1;

    private static void assertBetween(double least, double most, double value) {
        assertTrue(value >= least && value <= most, value + " is not between " + least + " and " + most);
    }

    private static double sum(double[] parts) {
        return Arrays.stream(parts).sum();
    }

    @Test
    void brokersShareTheQuotaEvenly() throws Exception {
        try (SimulatedCluster cluster = new SimulatedCluster(3, "fail-closed")) {
            cluster.want(5, 5, 5);
            cluster.run(30);
            double[] parts = cluster.run(60);
            System.out.println("three in demand: " + Arrays.toString(parts));
            assertBetween(LEAST, MOST, sum(parts));
            for (double part : parts) {
                assertBetween(0.28, 0.38, part);
            }
        }
    }

    @Test
    void brokerInDemandHasWhatTheOthersLeave() throws Exception {
        try (SimulatedCluster cluster = new SimulatedCluster(3, "fail-closed")) {
            cluster.want(0.2, 5, 0);
            cluster.run(60);
            double[] parts = cluster.run(60);
            System.out.println("one in demand: " + Arrays.toString(parts));
            assertBetween(0.19, 0.21, parts[0]);
            assertBetween(LEAST, MOST, sum(parts));
            cluster.want(0, 0, 5);
            cluster.run(60);
            parts = cluster.run(60);
            System.out.println("another alone: " + Arrays.toString(parts));
            assertBetween(LEAST, MOST, parts[2]);
        }
    }

    @Test
    void latePeriods() throws Exception {
        for (int lateMs : new int[] {200, 600, 2000}) {
            try (SimulatedCluster cluster = new SimulatedCluster(2, "fail-closed")) {
                cluster.lateMs = lateMs;
                cluster.want(5, 0);
                cluster.run(60);
                double[] parts = cluster.run(60);
                System.out.println("one in demand, " + lateMs + " ms late: " + Arrays.toString(parts));
                assertBetween(0.8, MOST, sum(parts));
            }
        }
    }

    @Test
    void lateAnswers() throws Exception {
        try (SimulatedCluster cluster = new SimulatedCluster(2, "fail-closed")) {
            cluster.stint.delayMs = 1500; // each other period ends without
            cluster.want(5, 5);
            cluster.run(60);
            double[] parts = cluster.run(60);
            System.out.println("late answers: " + Arrays.toString(parts));
            assertBetween(0.75, MOST, sum(parts));
        }
    }

    @Test
    void unusedTokensGoBack() throws Exception {
        try (SimulatedCluster cluster = new SimulatedCluster(3, "fail-closed")) {
            cluster.want(1, 1, 1);
            cluster.run(30);
            assertTrue(cluster.stint.lent() > 0);
            cluster.want(0, 0, 0);
            cluster.run(30);
            assertEquals(0, cluster.stint.lent());
            int commands = cluster.stint.commands;
            cluster.run(30);
            assertEquals(commands, cluster.stint.commands, "an unused quota costs commands");
        }
    }

    @Test
    void outage() throws Exception {
        for (String whenDown : new String[] {"fail-open", "fail-closed", "local-share"}) {
            try (SimulatedCluster cluster = new SimulatedCluster(4, whenDown)) {
                cluster.want(2, 2, 0, 0);
                cluster.run(30);
                cluster.stint.isDown = true;
                cluster.run(60);
                double during = sum(cluster.run(60));
                System.out.println(whenDown + ": " + during);
                switch (whenDown) {
                    case "fail-open" -> assertBetween(3.9, 4.1, during);
                    case "fail-closed" -> assertBetween(0, 0.2, during);
                    default -> assertBetween(0.45, 0.51, during); // two of four brokers have their equal parts
                }
                cluster.stint.isDown = false;
                cluster.run(60);
                assertBetween(LEAST, MOST, sum(cluster.run(60)));
            }
        }
    }
}
