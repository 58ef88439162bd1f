package com.stintdb.client;

/** The origin of a decision. */
public enum Source {
    /** Stint. */
    SERVER,
    /** Tokens that Stint has set aside for this process: {@link Leases}. */
    LEASED,
    /** This process's share of the limit, while Stint does not answer: {@link Policy#localShare}. */
    LOCAL,
    /** The policy, while Stint does not answer. */
    FALLBACK
}
