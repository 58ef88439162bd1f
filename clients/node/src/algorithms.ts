/** An option of the command of an algorithm. */
export type Option = "PEEK" | "UPTO" | "FORCE" | "MAXWAIT";

/** A row of the table of algorithms. */
export interface Row {
    command: string;
    /** The name in RL.ALL and in policies. */
    spec: string;
    /** The words behind the key. */
    form: "rate" | "window" | "gcra" | "leases" | "member" | "adaptive" | "balance" | "penalty";
    options: readonly Option[];
    /** Whether grants can be ahead of time: MAXWAIT, or places in a queue. */
    reserves?: true;
    /** Whether a part of the limit can be left to others: KEEP. */
    keeps?: true;
    /** Whether the command asks for one place, and not for a number of tokens. */
    isOnePlace?: true;
    /** Whether the limit has no threshold: WARN. */
    noWarn?: true;
    /** Whether denied callers can have turns: SPREAD. */
    hasTurns?: true;
}

const meter = ["PEEK", "UPTO", "FORCE", "MAXWAIT"] as const;
const window = ["PEEK", "UPTO", "FORCE"] as const;

/** The one table of algorithms. Commands, text forms and checks are derived from it. */
export const algorithms = {
    tokenBucket: { command: "TB.ACQUIRE", spec: "TB", form: "rate", options: meter, reserves: true, keeps: true, hasTurns: true },
    leakyBucket: { command: "LB.ACQUIRE", spec: "LB", form: "rate", options: meter, reserves: true, keeps: true, hasTurns: true },
    leakyQueue: { command: "LB.QUEUE", spec: "LQ", form: "rate", options: ["PEEK"], reserves: true, hasTurns: true },
    gcra: { command: "CL.THROTTLE", spec: "CL", form: "gcra", options: [], keeps: true, noWarn: true },
    fixedWindow: { command: "FW.ACQUIRE", spec: "FW", form: "window", options: window, keeps: true, hasTurns: true },
    slidingWindow: { command: "SW.ACQUIRE", spec: "SW", form: "window", options: window, keeps: true },
    slidingLog: { command: "SL.ACQUIRE", spec: "SL", form: "window", options: window, keeps: true },
    concurrency: { command: "CC.ACQUIRE", spec: "CC", form: "leases", options: ["PEEK"], isOnePlace: true },
    fairShare: { command: "FS.ACQUIRE", spec: "FS", form: "member", options: ["PEEK"], noWarn: true },
    adaptive: { command: "AD.ACQUIRE", spec: "AD", form: "adaptive", options: ["PEEK", "MAXWAIT"], reserves: true, noWarn: true },
    balance: { command: "BAL.ACQUIRE", spec: "BAL", form: "balance", options: window, noWarn: true },
    penalty: { command: "PENALTY", spec: "PENALTY", form: "penalty", options: [], noWarn: true }, // which is no command: see Limit.mustTake
} as const satisfies Record<string, Row>;

/** The name of an algorithm. */
export type Algorithm = keyof typeof algorithms;
