import { mustBeList, mustBeText, shown } from "./arguments.js";
import { Asker, isUndecided } from "./asker.js";
import { count } from "./count.js";
import { type Client, type Driver, type Word, driverOf, mustBeClients } from "./driver.js";
import {
    ClosedError, DeniedError, InvalidError, type StintError, UnauthenticatedError, UnavailableError,
} from "./errors.js";
import { Fallback } from "./fallback.js";
import { shortKey } from "./key.js";
import { type LimiterOptions, mustBeLimiterOptions } from "./limiter-options.js";
import { mustKnow } from "./options.js";
import { type LeaseOptions, type LeaseServer, Leases } from "./leases/leases.js";
import { type Limit, type LimitLike, limitOf } from "./limit.js";
import type { Asked } from "./local.js";
import { milliseconds } from "./rates.js";
import type { Option } from "./algorithms.js";
import { type Class, classWords } from "./class.js";
import { type Credits, type Payment, parseCredits, paymentWords } from "./credits.js";
import { type Member, type Pace, type Report, parseMembers, parsePace, reportWords } from "./report.js";
import { type PolicyUsage, type Usage, parsePolicyUsage, parseUsage } from "./usage.js";
import { type Reserved, type ReservingOptions, reserve } from "./reserved.js";
import {
    type CheckOptions, type ExtendOptions, type Key, type Keyed, type RequestOptions, type WaitOptions, checkOptions,
    extendOptions, keyedParts, requestOptions, waitOptions,
} from "./request.js";
import { type BudgetStream, type StreamOptions, openStream } from "./stream.js";
import { Estimates } from "./estimates.js";
import { type Told, pauseOf, readLimits } from "./provider.js";
import { type Time, machineTime } from "./time.js";
import { keepWords, requestWords, sortedFields, text, withWords } from "./words.js";
import {
    type Charge, type MultiResult, type Result, integers, never, parseAtMost, parseCharges, parseExtension, parseMulti,
    parseResult,
} from "./result.js";

const tellEvery = 10_000; // milliseconds
const longestLate = 5_000; // milliseconds for which a reply that the server held back may be late, or its server be gone
const rejoinAfter = 100; // milliseconds

/** Asks a Stint server for each request, and decides when the server does not answer. Make one and keep it while the program runs. */
export class Limiter implements AsyncDisposable {
    #told = -tellEvery; // time of the last report of a refused login
    readonly #asker: Asker;
    readonly #options: LimiterOptions;
    readonly #timeout: number;
    readonly #fallback: Fallback;
    readonly #closing = new AbortController();
    readonly #estimates = new Estimates();
    /** The time by which it waits: that of the machine, or of a fake. Its `sleep` ends when the limiter is closed. */
    readonly time: Time;

    /** A limiter with its own connections, to the server that a client of ioredis or node-redis is for, or to the nodes of a cluster that clients are for. */
    constructor(client: Client | readonly Client[] | Driver, options: LimiterOptions) {
        mustBeClients(client);
        mustBeLimiterOptions(options); // before a connection is open
        this.#options = options;
        this.#timeout = milliseconds(options.timeout ?? 20, "timeout");
        const driver = "send" in client ? client : driverOf([client].flat());
        const time = driver.time ?? machineTime;
        this.time = { now: () => time.now(), sleep: (ms, ...signals) => time.sleep(ms, ...signals, this.#closing.signal) };
        this.#fallback = new Fallback(options.whenDown, this.time);
        const connectTimeout = milliseconds(options.connectTimeout ?? 1000, "connectTimeout");
        this.#asker = new Asker(driver, this.#timeout, connectTimeout, options.breaker ?? {}, options.onBreaker ?? warn);
    }

    /** Whether the circuit breaker is open: no requests are sent at present. */
    get isOpen(): boolean { return this.#asker.breaker.isOpen; }

    /** Ends the connection. Later calls, and those that {@link Limiter.wait}, throw {@link ClosedError}. */
    close(): void {
        this.#asker.close();
        this.#closing.abort(new ClosedError("the limiter was closed"));
    }

    [Symbol.asyncDispose](): Promise<void> {
        this.close();
        return Promise.resolve();
    }

    /** Takes tokens (1 by default) if the limit allows, all or none. */
    allow(key: Key, limit: LimitLike, tokens = 1): Promise<Result> { return this.#acquire(key, limit, tokens); }

    /** Takes the tokens that are there, at most so many. */
    allowAtMost(key: Key, limit: LimitLike, tokens: number): Promise<Result> { return this.#acquire(key, limit, tokens, "UPTO"); }

    /** Answers as {@link allow} and takes nothing. */
    peek(key: Key, limit: LimitLike, tokens = 1): Promise<Result> { return this.#acquire(key, limit, tokens, "PEEK"); }

    /** Takes tokens even if there are none: for work that has happened already. */
    force(key: Key, limit: LimitLike, tokens = 1): Promise<Result> { return this.#acquire(key, limit, tokens, "FORCE"); }

    /** Takes tokens of a class: its assured ones, or those that its ancestors have to lend, all or none. */
    async allowClass(tree: Class, tokens = 1): Promise<Result> { return this.#class(tree, tokens); }

    /** Answers as {@link allowClass} and takes nothing. */
    async peekClass(tree: Class, tokens = 1): Promise<Result> { return this.#class(tree, tokens, "PEEK"); }

    /**
     * Adds the credits of a payment to a balance, and returns the present balance. The server adds those of a payment once, so it is sent again if a reply is
     * lost, and may be called again. The same id with other credits or another end is an error.
     */
    async addCredits(key: Key, payment: Payment): Promise<number> {
        const [, balance] = integers(await this.#asker.askUntilAnswered(paymentWords(key, payment), this.#timeout), 2) as [number, number];
        return balance;
    }

    /** The credits of a balance; null for a key without one. */
    async credits(key: Key): Promise<Credits | null> {
        return parseCredits(await this.#asker.askUntilAnswered(["BAL.INFO", shortKey(key)], this.#timeout));
    }

    /** The active members of a fair share, in the order of their names. */
    async members(pool: Key): Promise<Member[]> {
        return parseMembers(await this.#asker.ask(["FS.MEMBERS", shortKey(pool)], this.#timeout));
    }

    /**
     * Tells an adaptive limit about calls of its backend. Report sums, each second or so. It returns null if the key has no limiter: nothing
     * was granted in the last ten minutes. The server counts a report once, so it is sent again if a reply is lost.
     */
    async report(key: Key, report: Report): Promise<Pace | null> {
        return parsePace(await this.#asker.askUntilAnswered(reportWords(key, report), this.#timeout));
    }

    /** Takes tokens of all limits at one instant, or of none. */
    async all(limits: readonly Keyed[], options: RequestOptions = {}): Promise<MultiResult> {
        mustBeList(limits, "limits");
        if (limits.length === 0) {
            throw new InvalidError("limits: all needs at least one");
        }
        if (Object.hasOwn(Object(options) as object, "fields")) {
            throw new InvalidError("fields: are for the keys of a policy, not for all");
        }
        mustKnow(options, requestOptions, "a request");
        const tokens = count(options.tokens ?? 1, "tokens");
        const words: Word[] = ["RL.ALL"];
        for (const keyed of limits) {
            mustKnow(keyed, keyedParts, "one of several limits");
            const { key, limit, cost, keep, orElse } = keyed;
            const own = limitOf(limit);
            if (orElse === true && own.algorithm !== "balance") {
                throw new InvalidError(`orElse: is for a balance, got ${own.toString()}`);
            }
            words.push(...(orElse === true ? ["ELSE"] : []), own.row.spec, shortKey(key), ...own.words, ...own.optionWords);
            if (cost !== undefined) {
                words.push("COST", count(cost, "cost", 0));
            }
            words.push(...keepWords(keep ?? (own.row.keeps ? options.keep : undefined)));
        }
        words.push("TOKENS", tokens, ...requestWords(options));
        const local = limits.map(({ key, limit, cost, orElse }) => ({ key: text(key), limit: limitOf(limit), tokens: orElse === true ? 0 : cost ?? tokens }));
        return await this.#several(words, options, tokens, local, parseMulti);
    }

    /** Checks the limits of a policy stored on the server, for the caller with this id: all or none. */
    async check(policy: string, id: Key, options: CheckOptions = {}): Promise<MultiResult> {
        mustBeText(policy, "policy");
        mustKnow(options, checkOptions, "a check");
        const fields = sortedFields(options.fields), tokens = count(options.tokens ?? 1, "tokens");
        const words: Word[] = ["RL.CHECK", policy, shortKey(id), tokens, ...keepWords(options.keep), ...requestWords(options)];
        if (options.showWarn === true) {
            words.push("WARN");
        }
        words.push(...withWords(fields));
        const caller = JSON.stringify([policy, text(id), ...fields.map(([name, value]) => [name, text(value)])]);
        const local = (this.#options.assumed?.[policy] ?? []).map((limit, i) => ({ key: `${i} ${caller}`, limit: limitOf(limit), tokens }));
        return await this.#several(words, options, tokens, local, parseMulti);
    }

    /**
     * Charges the true cost of a request that was granted with an id: tokens for each limit without a cost, or one amount for each limit,
     * null to keep it. It returns null if the server does not know the id: then the tokens of the request stay taken if the time to remember it
     * is over. The first null of a process is a warning on the console. It is sent again if a reply is lost.
     */
    async settle(id: Key, charge: number | readonly (number | null)[]): Promise<Charge[] | null> {
        const amounts: Word[] = !Array.isArray(charge) ? [count(charge as number, "tokens", 0)]
            : ["COSTS", ...(charge as readonly (number | null)[]).map((n) => (n === null ? "-" : count(n, "costs", 0)))];
        const charges = parseCharges(await this.#asker.askUntilAnswered(["RL.SETTLE", shortKey(id), ...amounts], this.#timeout));
        if (charges === null) {
            warnLate(text(id));
        }
        return charges;
    }

    /** What was used of the limit of a key; null if nothing was, or the key has expired. */
    async usage(key: Key): Promise<Usage | null> {
        return parseUsage(await this.#asker.askUntilAnswered(["RL.USAGE", shortKey(key)], this.#timeout));
    }

    /** What was used of each limit of a policy stored on the server, by the caller with this id. */
    async policyUsage(policy: string, id: Key, options: Pick<CheckOptions, "fields"> = {}): Promise<PolicyUsage[]> {
        mustBeText(policy, "policy");
        mustKnow(options, { fields: true }, "the usage of a policy");
        const words = ["RL.POLICY", "USAGE", policy, shortKey(id), ...withWords(sortedFields(options.fields))];
        return parsePolicyUsage(await this.#asker.askUntilAnswered(words, this.#timeout));
    }

    /** Gives back everything that a request with this id took. It is {@link settle} in all other respects. */
    async cancel(id: Key): Promise<Charge[] | null> {
        return parseCharges(await this.#asker.askUntilAnswered(["RL.CANCEL", shortKey(id)], this.#timeout));
    }

    /**
     * Takes more tokens of the same limits for a request that was granted with an id: {@link settle} charges all
     * together. The extensions of a request have the numbers n = 1, 2, 3 …: the last one that was granted is answered
     * again and takes nothing, so it is sent again if a reply is lost. A denial takes nothing, and the same n may be
     * asked again. It returns null if the server does not know the id.
     */
    async extend(id: Key, n: number, tokens: number, options: ExtendOptions = {}): Promise<MultiResult | null> {
        mustKnow(options, extendOptions, "an extension");
        const words: Word[] = ["RL.EXTEND", shortKey(id), count(n, "n"), count(tokens, "tokens")];
        if (options.upTo === true) {
            words.push("UPTO");
        }
        if (options.remember !== undefined) {
            words.push("FOR", `${milliseconds(options.remember, "remember")}ms`);
        }
        if (options.split === true) {
            words.push("SPLIT");
        }
        const local = (options.limits ?? []).filter(({ cost }) => cost === undefined);
        const asked = local.map(({ key, limit }) => ({ key: text(key), limit: limitOf(limit), tokens }));
        return await this.#several(words, { id }, tokens, asked, parseExtension);
    }

    /** Takes tokens under an id until the end of a block, of the limits of a policy or of several: see {@link Reserved}. */
    reserving(what: string | readonly Keyed[], options: ReservingOptions): Promise<Reserved> { return reserve(this, what, options); }

    /**
     * Opens a stream that ends at its budget, of the limits of a policy or of several: see {@link BudgetStream}. It
     * throws {@link BudgetSpentError} if there is not even one token besides those of the prompt.
     */
    streaming(what: string | readonly Keyed[], options: StreamOptions = {}): Promise<BudgetStream> {
        return openStream(this, what, options, this.#estimates);
    }

    /** Leases that spend tokens from memory, which Stint has set aside for this process. Close them before the limiter. */
    lease(options: LeaseOptions = {}): Leases {
        const fallBack: LeaseServer["fallBack"] = (error, key, limit, tokens) => this.#fallback.one(error, [{ key: text(key), limit, tokens }], tokens);
        return new Leases({ ask: (words) => this.#asker.ask(words, this.#timeout), allow: (key, limit, tokens) => this.allow(key, limit, tokens), fallBack, timeout: this.#timeout }, options);
    }

    /**
     * Leaves at most so many tokens of a limit, and never more than there are: for a limit that is another service's,
     * and of which fewer are left than this process believed. The result's `granted` are the tokens that it took. It is
     * for buckets, windows, sliding logs and GCRA.
     */
    async atMost(key: Key, limit: LimitLike, tokens: number): Promise<Result> {
        const own = limitOf(limit);
        if (!own.corrects) {
            throw new InvalidError(`limit: atMost is for buckets and windows without segments and rollover, got ${own.toString()}`);
        }
        const words: Word[] = ["RL.ATMOST", shortKey(key), own.row.spec, ...own.words, count(tokens, "tokens", 0)];
        return parseAtMost(await this.#asker.ask([...words, ...own.countedWords], this.#timeout), own);
    }

    /**
     * Follows the limits that another service tells in a response: {@link atMost} for each limit that is given by its
     * unit, as in
     * `follow(response, { requests: { key: "api", limit } })`. It returns the milliseconds for which the service asks
     * for a pause.
     */
    async follow(response: Told, limits: Readonly<Record<string, Pick<Keyed, "key" | "limit">>>): Promise<number> {
        const told = readLimits(response.headers);
        await Promise.all(told.map(async ({ unit, remaining }) => {
            const own = limits[unit];
            if (own !== undefined) {
                await this.atMost(own.key, own.limit, remaining);
            }
        }));
        return pauseOf(response, told);
    }

    /** Gives tokens back. It returns the tokens left, or null if the key has no limiter. */
    async refund(key: Key, tokens: number): Promise<number | null> {
        const reply = await this.#asker.ask(["RL.REFUND", shortKey(key), count(tokens, "tokens")], this.#timeout);
        return reply === null ? null : (integers([reply], 1)[0] ?? null);
    }

    /** Resets a key to its full limit. It returns whether there was something to reset. */
    async reset(key: Key): Promise<boolean> {
        return (await this.#asker.ask(["DEL", shortKey(key)], this.#timeout)) === 1;
    }

    /** Ends a holder's place in a concurrency limit. It returns whether the holder had one. */
    async release(key: Key, holder: string): Promise<boolean> {
        mustBeText(holder, "holder");
        return (await this.#asker.ask(["CC.RELEASE", shortKey(key), holder], this.#timeout)) === 1;
    }

    /**
     * Waits for tokens and takes them. With token buckets and queues, requests are served in the order in which they
     * reached Stint. An adaptive limit is reserved at most a quarter of a second ahead, so a pause that another process
     * reports holds soon. For a place of a concurrency limit, it waits in the server's line, on a connection of its
     * own. It throws {@link DeniedError} if that would take longer than `atMost`, or for ever. If `signal` is aborted
     * while it waits, it throws the signal's reason and gives the tokens back.
     */
    async wait(key: Key, limit: LimitLike, options: WaitOptions = {}): Promise<Result> {
        mustKnow(options, waitOptions, "wait");
        const own = limitOf(limit), tokens = options.tokens ?? 1;
        const deadline = this.time.now() + (options.atMost === undefined ? 365 * 86_400_000 : milliseconds(options.atMost, "atMost"));
        const { priority } = options, isPlace = own.algorithm === "concurrency";
        if (priority !== undefined && !(isPlace && Number.isInteger(priority) && priority >= 0 && priority <= 9)) {
            throw new InvalidError(`priority: must be an integer from 0 to 9, for a concurrency limit, got ${shown(priority)}`);
        }
        if (isPlace && this.#asker.canHold) {
            return await this.#waitForPlace(key, own, deadline, options);
        }
        for (;;) {
            options.signal?.throwIfAborted();
            const left = Math.max(1, Math.floor(deadline - this.time.now()));
            const result = await this.#acquire(key, own, tokens, ...ahead(own, left));
            if (result.allowed && result.wait <= left) {
                try {
                    await this.time.sleep(result.wait, options.signal);
                    return result;
                } catch (error) {
                    await this.refund(key, result.granted).catch(() => undefined);
                    throw error;
                }
            }
            if (result.allowed) { // a place in a queue with a longer wait
                await this.refund(key, result.granted);
                throw new DeniedError(`the place in the queue is ${result.wait} ms away, and there are ${left} ms`);
            }
            this.#giveUp(own, result, left);
            await this.time.sleep(result.retryAfter, options.signal);
        }
    }

    /**
     * Takes a place of a concurrency limit, or waits in the server's line for one. After a failure it joins the line
     * again.
     */
    async #waitForPlace(key: Key, own: Limit, deadline: number, { signal, priority }: WaitOptions): Promise<Result> {
        const holder = String(own.words.at(-1));
        for (let patientUntil = -Infinity; ;) {
            signal?.throwIfAborted();
            const now = await this.#acquire(key, own, 1), left = Math.max(1, Math.floor(deadline - this.time.now()));
            if (now.allowed) {
                return now;
            }
            if (now.source !== "server" && this.time.now() < Math.min(patientUntil, deadline)) {
                await this.time.sleep(rejoinAfter, signal);
                continue;
            }
            if (now.source !== "server") {
                this.#giveUp(own, now, left);
            }
            const words: Word[] = ["CC.ACQUIRE", shortKey(key), ...own.words, ...own.optionWords, "BLOCK", `${left}ms`];
            words.push(...(priority === undefined ? [] : ["PRIORITY", priority]));
            const ended = new AbortController();
            const isOver = this.time.sleep(left + longestLate, signal, ended.signal).then(() => {
                throw new UnavailableError("timeout", `no reply within ${left + longestLate} ms`);
            });
            isOver.catch(() => undefined); // also where nothing waits for it
            try {
                const result = parseResult(await this.#asker.hold(words, isOver), own, 1);
                if (!result.allowed) {
                    throw new DeniedError(`all ${own.capacity} places were taken until the end of the wait`);
                }
                return result;
            } catch (error) {
                if (signal?.aborted) { // the reply may have been under way
                    await this.release(key, holder).catch(() => undefined);
                }
                if (!isUndecided(error)) {
                    throw error;
                }
            } finally {
                ended.abort();
            }
            patientUntil = this.time.now() + longestLate; // another node may become the leader
            await this.time.sleep(rejoinAfter * (0.5 + Math.random()), signal);
        }
    }

    #giveUp(limit: Limit, denied: Result, left: number): void {
        if (denied.source === "fallback") {
            throw new DeniedError("Stint does not answer, and the fallback denies", { cause: denied.cause });
        }
        if (denied.needsPayment === true) {
            throw new DeniedError("the balance has fewer credits than the request needs, and only a payment helps");
        }
        if (denied.retryAfter === never) {
            throw new DeniedError(`more tokens than ${limit.row.command} can ever grant with a capacity of ${limit.capacity}`);
        }
        if (denied.retryAfter > left || (denied.source === "server" && limit.row.reserves && limit.algorithm !== "adaptive")) {
            throw new DeniedError(`it would take ${denied.retryAfter} ms, and there are ${left} ms, or the queue is full`);
        }
    }

    async #acquire(key: Key, limit: LimitLike, tokens: number, option?: Option, ...time: Word[]): Promise<Result> {
        const own = limitOf(limit), { command, isOnePlace } = own.row;
        own.mustTake(option);
        if (isOnePlace && tokens !== 1) {
            throw new InvalidError(`tokens: ${command} asks for one place, got ${tokens}`);
        }
        const asked = isOnePlace ? [] : [count(tokens, "tokens")], options = option === undefined ? [] : [option, ...time];
        const words: Word[] = [command, shortKey(key), ...own.words, ...asked, ...own.optionWords, ...options];
        return this.#one(words, own, tokens, [{ key: text(key), limit: own, tokens }], option);
    }

    #class(tree: Class, tokens: number, option?: Option): Promise<Result> {
        const words = classWords(tree, tokens);
        const limits = [{ key: tree.key, limit: tree.ceiling }, ...tree.under].map(({ key, limit }) => ({ key: text(key), limit: limitOf(limit), tokens }));
        return this.#one([...words, ...(option === undefined ? [] : [option])], limitOf(tree.ceiling), tokens, limits, option);
    }

    /** The answer about the first limit. */
    async #one(words: Word[], own: Limit, tokens: number, limits: Asked[], option?: Option): Promise<Result> {
        try {
            return parseResult(await this.#asker.ask(words, this.#timeout), own, tokens);
        } catch (error) {
            if (!isUndecided(error)) {
                throw error;
            }
            this.#tell(error);
            return this.#fallback.one(error, limits, tokens, option);
        }
    }

    /** A request with an id is sent again if its reply is lost. */
    async #several<T>(
        words: Word[], { id, peek }: RequestOptions, tokens: number, limits: Asked[], parse: (reply: unknown, bought: boolean) => T,
    ): Promise<T | MultiResult> {
        try {
            const reply = id === undefined ? this.#asker.ask(words, this.#timeout)
                : this.#asker.askUntilAnswered(words, this.#timeout);
            return parse(await reply, limits.at(-1)?.limit.algorithm === "balance");
        } catch (error) {
            if (!isUndecided(error)) {
                throw error;
            }
            this.#tell(error);
            return this.#fallback.several(error, limits, tokens, peek);
        }
    }

    /** Tells an operator that the fallback decides: the first time in this process, and again and again if the login is the cause. */
    #tell(error: StintError): void {
        const now = this.time.now();
        if (!(error instanceof UnauthenticatedError)) {
            warnOnce(error);
        } else if (now - this.#told >= tellEvery) {
            this.#told = now;
            (this.#options.onRefusedLogin ?? ((refused) => { console.error(`Stint refuses the login, so the fallback decides: ${refused.message}`); }))(error);
        }
    }
}

let warned = false;

/** Tells an operator of the first request in this process that Stint did not decide. Results have the source of each. */
function warnOnce(cause: StintError): void {
    if (!warned) {
        warned = true;
        console.error(`Stint did not decide a request, so the fallback did: ${cause.message}. Later ones are not logged one by one`);
    }
}

let warnedLate = false;

/** Has the next settlement that charges nothing told again, in a test. */
export function forgetLate(): void { warnedLate = false; }

/** Tells an operator of the first settlement in this process that charged nothing. */
function warnLate(id: string): void {
    if (!warnedLate) {
        warnedLate = true;
        console.error(`Stint does not know the request ${JSON.stringify(id)} that was settled, and its true cost was not charged: the time to remember it is over, or nothing was taken under its id. Later ones are not logged one by one`);
    }
}

/** Tells an operator that the fallback decides from now on, or no longer. */
function warn(open: boolean, cause?: StintError): void {
    process.emitWarning(open ? `Stint does not answer, so the fallback decides: ${cause?.message}` : "Stint answers again", "StintWarning");
}

/** The option that reserves a limit ahead, where left milliseconds remain. */
function ahead(limit: Limit, left: number): [Option?, ...Word[]] {
    if (!limit.row.options.includes("MAXWAIT")) {
        return [];
    }
    return ["MAXWAIT", `${limit.algorithm === "adaptive" ? Math.min(left, 250) : left}ms`];
}
