package com.stintdb.client;

import java.util.Set;

/** The one table of algorithms. Commands, text forms and checks are derived from it. */
public enum Algorithm {
    /** TB.ACQUIRE: a bucket that is refilled evenly. */
    TOKEN_BUCKET("TB.ACQUIRE", "TB", Form.RATE, Set.of(Option.PEEK, Option.UPTO, Option.FORCE, Option.MAXWAIT), true, true, true),
    /** LB.ACQUIRE: the same arithmetic by its other name. */
    LEAKY_BUCKET("LB.ACQUIRE", "LB", Form.RATE, Set.of(Option.PEEK, Option.UPTO, Option.FORCE, Option.MAXWAIT), true, true, true),
    /** LB.QUEUE: requests go out one by one, evenly spaced. */
    LEAKY_QUEUE("LB.QUEUE", "LQ", Form.RATE, Set.of(Option.PEEK), true, false, true),
    /** CL.THROTTLE, of redis-cell. */
    GCRA("CL.THROTTLE", "CL", Form.GCRA, Set.of(), false, true, false),
    /** FW.ACQUIRE: tokens of a window. */
    FIXED_WINDOW("FW.ACQUIRE", "FW", Form.WINDOW, Set.of(Option.PEEK, Option.UPTO, Option.FORCE), false, true, true),
    /** SW.ACQUIRE: a window estimated from two counters. */
    SLIDING_WINDOW("SW.ACQUIRE", "SW", Form.WINDOW, Set.of(Option.PEEK, Option.UPTO, Option.FORCE), false, true, true),
    /** SL.ACQUIRE: an exact window. */
    SLIDING_LOG("SL.ACQUIRE", "SL", Form.WINDOW, Set.of(Option.PEEK, Option.UPTO, Option.FORCE), false, true, true),
    /** CC.ACQUIRE: places of holders. */
    CONCURRENCY("CC.ACQUIRE", "CC", Form.LEASES, Set.of(Option.PEEK), false, false, true),
    /** FS.ACQUIRE: a pool shared by weight. */
    FAIR_SHARE("FS.ACQUIRE", "FS", Form.MEMBER, Set.of(Option.PEEK), false, false, false),
    /** AD.ACQUIRE: a rate that follows reports. */
    ADAPTIVE("AD.ACQUIRE", "AD", Form.ADAPTIVE, Set.of(Option.PEEK, Option.MAXWAIT), true, false, false),
    /** BAL.ACQUIRE: credits that were bought. */
    BALANCE("BAL.ACQUIRE", "BAL", Form.BALANCE, Set.of(Option.PEEK, Option.UPTO, Option.FORCE), false, false, false),
    /** PENALTY in RL.ALL and policies: bans of callers who go on when they are denied. It is no command. */
    PENALTY("PENALTY", "PENALTY", Form.PENALTY, Set.of(), false, false, false);

    /** An option of the command of an algorithm. */
    enum Option {
        PEEK,
        UPTO,
        FORCE,
        MAXWAIT
    }

    /** The words behind a key. */
    enum Form {
        RATE,
        WINDOW,
        GCRA,
        LEASES,
        MEMBER,
        ADAPTIVE,
        BALANCE,
        PENALTY
    }

    private final String command;
    private final String spec;
    final Form form;
    final Set<Option> options;
    /** Whether grants can be ahead of time: MAXWAIT, or places in a queue. */
    final boolean reserves;
    /** Whether a part of the limit can be left to others: KEEP. */
    final boolean keeps;
    /** Whether the limit can have a threshold: WARN. */
    final boolean warns;

    Algorithm(String command, String spec, Form form, Set<Option> options, boolean reserves, boolean keeps, boolean warns) {
        this.command = command;
        this.spec = spec;
        this.form = form;
        this.options = options;
        this.reserves = reserves;
        this.keeps = keeps;
        this.warns = warns;
    }

    /** The command that takes tokens. */
    public String command() {
        return command;
    }

    /** The name in RL.ALL, and in policies. */
    public String spec() {
        return spec;
    }

    /** Whether denied callers can have turns: SPREAD. */
    boolean hasTurns() {
        return form == Form.RATE || this == FIXED_WINDOW;
    }

    /** Whether the command asks for one place, and not for a number of tokens. */
    boolean isOnePlace() {
        return this == CONCURRENCY;
    }
}
