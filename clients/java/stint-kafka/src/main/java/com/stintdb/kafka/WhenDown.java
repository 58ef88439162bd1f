package com.stintdb.kafka;

/** What holds for a quota while Stint does not answer. */
enum WhenDown {
    /** No quota. */
    FAIL_OPEN,
    /** As little as Kafka can: requests are delayed more and more. */
    FAIL_CLOSED,
    /** An equal part for each broker. */
    LOCAL_SHARE
}
