package com.stintdb.client;

/** An option of a limit, which has one value. They are sent in this order. */
enum LimitOption {
    TZ,
    FROM,
    HISTORY,
    WARN,
    WEIGHT
}
