package com.stintdb.client;

/** An option of a limit. They are sent in this order, each with its value but for the last. */
enum LimitOption {
    TZ,
    FROM,
    HISTORY,
    ROLLOVER,
    SEGMENTS,
    DOUBLING,
    WARN,
    WEIGHT,
    SPREAD
}
