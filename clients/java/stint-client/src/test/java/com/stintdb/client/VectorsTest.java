package com.stintdb.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.stintdb.client.internal.Rates;
import com.stintdb.client.web.Guard;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.DefaultClientResources;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Plays the vectors that the clients in all languages share. Commands, results and errors are those of the Go client. */
class VectorsTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, Policy> POLICIES =
            Map.of("fail_open", Policy.failOpen(), "fail_closed", Policy.failClosed(), "local_share", Policy.localShare(0.5));

    private static Scripted server;
    private static ClientResources resources; // one for all limiters

    @BeforeAll
    static void start() throws Exception {
        server = new Scripted();
        resources = DefaultClientResources.create();
    }

    @AfterAll
    static void stop() throws Exception {
        server.close();
        resources.shutdown(0, 1, TimeUnit.SECONDS);
    }

    @TestFactory
    Stream<DynamicTest> vectors() {
        return Stream.of("vectors.json", "shared.json", "usage.json", "balance.json")
                .flatMap(name -> stream(Vectors.read(name)))
                .map(v -> DynamicTest.dynamicTest(v.get("name").asText(), () -> {
                    if (v.get("call").asText().equals("http")) {
                        playResponse(v);
                    } else {
                        play(v);
                    }
                }));
    }

    private static void playResponse(JsonNode v) {
        server.reply = v.get("reply").asText();
        server.commands.clear();
        JsonNode want = v.get("response");
        try (Limiter limiter = limiter(v)) {
            Guard guard = v.has("policy") ? Guard.byPolicy(limiter, "api") : Guard.byLimit(limiter, "api", limit(v.get("limit")));
            Guard.Answer answer = guard.decide(v.get("key").asText(), Request.of(v.get("tokens").asLong())).toCompletableFuture().join();
            assertEquals(want.get("status").asInt(), answer.status());
            assertEquals(want.get("body").asText(), answer.allowed() ? "ok" : answer.body());
            ObjectNode fields = JSON.createObjectNode();
            answer.fields().forEach((name, value) -> fields.put(name.toLowerCase(Locale.ROOT), value));
            assertEquals(want.get("fields"), fields);
        }
        assertEquals(List.of(JSON.convertValue(v.get("command"), List.class)), server.commands);
    }

    private static Limiter limiter(JsonNode v) {
        return Limiter.builder(POLICIES.get(v.get("when_down").asText()), server.url())
                .timeout(Duration.ofSeconds(20))
                .connectTimeout(Duration.ofSeconds(20))
                .resources(resources)
                .onBreaker((isOpen, cause) -> {})
                .onRefusedLogin(refused -> {})
                .build();
    }

    private static Stream<JsonNode> stream(JsonNode list) {
        return StreamSupport.stream(list.spliterator(), false);
    }

    private static void play(JsonNode v) {
        server.reply = v.get("reply").asText();
        server.commands.clear();
        JsonNode got = null;
        StintException error = null;
        try (Limiter limiter = limiter(v)) {
            Object result = call(limiter, v).toCompletableFuture().join();
            error = result instanceof Result one ? one.cause() : result instanceof MultiResult many ? many.cause() : null;
            got = shown(v.get("call").asText(), result);
        } catch (CompletionException e) {
            error = (StintException) e.getCause();
        } catch (StintException e) { // of an argument
            error = e;
        }
        assertEquals(v.get("error").asText(), kind(error), String.valueOf(error));
        assertEquals(v.get("command").isNull() ? List.of() : List.of(JSON.convertValue(v.get("command"), List.class)), server.commands);
        if (got == null) {
            assertFalse(v.at("/result/allowed").asBoolean()); // where Go returns an error and a denial, this client throws
            return;
        }
        JsonNode shown = got;
        for (String mark : List.of("warn", "needs_payment")) {
            assertEquals(v.at("/result/" + mark).asBoolean(), shown.path(mark).asBoolean());
        }
        boolean isUnknown = v.at("/result/known").isBoolean() && !v.at("/result/known").asBoolean();
        v.get("result").properties().forEach(part -> {
            boolean dependsOnTheClock = part.getKey().equals("reset_after_ms") && v.at("/result/source").asText().equals("local");
            if (!dependsOnTheClock && (!isUnknown || part.getKey().equals("known"))) {
                assertEquals(plain(part.getValue()), plain(shown.path(part.getKey())), part.getKey());
            }
        });
    }

    /** A value whose numbers are all of one type. */
    private static String plain(JsonNode value) {
        return value.isNumber() ? Double.toString(value.asDouble()) : value.toString();
    }

    private static CompletionStage<?> call(Limiter limiter, JsonNode v) {
        long tokens = v.path("tokens").asLong();
        Key key = key(v.path("key").asText());
        return switch (v.get("call").asText()) {
            case "allow" -> limiter.allow(key, limit(v.get("limit")), tokens);
            case "allow_at_most" -> limiter.allowAtMost(key, limit(v.get("limit")), tokens);
            case "peek" -> limiter.peek(key, limit(v.get("limit")), tokens);
            case "force" -> limiter.force(key, limit(v.get("limit")), tokens);
            case "all" -> limiter.all(stream(v.path("limits")).map(VectorsTest::keyed).toList(), request(v));
            case "check" -> limiter.check(v.get("policy").asText(), key, request(v));
            case "extend" -> {
                Extension extension = Extension.of(v.get("number").asLong(), tokens);
                yield limiter.extend(v.get("id").asText(), v.path("split").asBoolean() ? extension.split() : extension);
            }
            case "release" -> limiter.release(v.get("key").asText(), v.at("/limit/member").asText());
            case "add_credits" -> {
                Instant expires = v.has("expires_s") ? Instant.ofEpochSecond(v.get("expires_s").asLong()) : null;
                yield limiter.addCredits(key, tokens, Key.of(v.get("id").asText()), expires);
            }
            case "credits" -> limiter.credits(key);
            case "settle" -> limiter.settle(v.get("id").asText(), tokens);
            case "settle_costs" -> limiter.settle(Key.of(v.get("id").asText()), costs(v.get("costs")));
            case "cancel" -> limiter.cancel(v.get("id").asText());
            case "refund" -> limiter.refund(key, tokens);
            case "usage" -> limiter.usage(key);
            case "policy_usage" -> limiter.policyUsage(v.get("policy").asText(), key, fields(v));
            case "members" -> limiter.members(v.get("key").asText());
            case "class" -> limiter.allowClass(tree(v.get("class")), tokens);
            case "peek_class" -> limiter.peekClass(tree(v.get("class")), tokens);
            case "report" -> limiter.report(v.get("key").asText(), report(v.get("report")));
            default -> throw new IllegalArgumentException("unknown call " + v.get("call"));
        };
    }

    private static Limit limit(JsonNode v) {
        Limit limit = v.has("warn_percent") ? unwarned(v).warn(v.get("warn_percent").asInt()) : unwarned(v);
        return v.path("spread").asBoolean() ? limit.spread() : limit;
    }

    private static Limit unwarned(JsonNode v) {
        long tokens = v.path("tokens").asLong();
        Duration period = Duration.ofMillis(v.path("period_ms").asLong());
        return switch (v.get("algorithm").asText()) {
            case "TB" -> Limit.per(v.path("count").asLong(), period).burst(tokens);
            case "LQ" -> Limit.per(v.path("count").asLong(), period).queue(tokens);
            case "CL" -> Limit.gcra(tokens - 1, v.path("count").asLong(), period.toSeconds());
            case "FW" -> {
                Limit window = window(tokens, v);
                window = v.has("history") ? window.history(v.get("history").asInt()) : window;
                yield v.has("rollover_percent") ? window.rollover(v.get("rollover_percent").asInt()) : window;
            }
            case "SW" -> {
                Limit sliding = Limit.slidingWindow(tokens, period);
                yield v.has("segments") ? sliding.segments(v.get("segments").asInt()) : sliding;
            }
            case "CC" -> Limit.concurrency(tokens, period, v.get("member").asText());
            case "BAL" -> Limit.balance();
            case "PENALTY" -> {
                Limit penalty = Limit.penalty(tokens, period, Duration.ofMillis(v.path("ban_ms").asLong()));
                yield v.has("longest_ban_ms") ? penalty.doubling(Duration.ofMillis(v.get("longest_ban_ms").asLong())) : penalty;
            }
            case "SL" -> Limit.slidingLog(tokens, period);
            case "FS" -> Limit.per(v.path("count").asLong(), period).burst(tokens).member(v.path("member").asText(""), v.path("weight").asInt());
            case "AD" -> Limit.per(v.path("count").asLong(), period).burst(tokens).adaptive(v.path("least").asLong());
            default -> throw new IllegalArgumentException("unknown algorithm " + v);
        };
    }

    private static Limit window(long tokens, JsonNode v) {
        String window = v.get("window").asText();
        return window.startsWith("@") ? Limit.window(tokens, window, text(v, "zone"), text(v, "from")) : Limit.window(tokens, Duration.ofNanos(Rates.duration(window).longValue()));
    }

    private static @Nullable String text(JsonNode v, String name) {
        return v.has(name) ? v.get(name).asText() : null;
    }

    private static Key key(String text) {
        return text.startsWith("hex:") ? Key.of(HexFormat.of().parseHex(text.substring(4))) : Key.of(text);
    }

    private static Keyed keyed(JsonNode v) {
        Keyed keyed = Keyed.of(key(v.get("key").asText()), limit(v.get("limit")));
        keyed = v.has("cost") ? keyed.cost(v.get("cost").asLong()) : keyed;
        keyed = v.path("or_else").asBoolean() ? keyed.orElse() : keyed;
        return v.has("keep") ? keyed.keep(keep(v.get("keep"))) : keyed;
    }

    private static Keep keep(JsonNode v) {
        return v.asText().endsWith("%") || !v.asText().matches("[0-9]+") ? Keep.percent(v.asText()) : Keep.tokens(v.asLong());
    }

    private static Request request(JsonNode v) {
        Request request = Request.of(v.path("tokens").asLong());
        request = v.path("show_warn").asBoolean() ? request.showWarn() : request;
        request = v.path("split").asBoolean() ? request.split() : request;
        request = v.has("keep") ? request.keep(keep(v.get("keep"))) : request;
        request = v.has("max_wait_ms") ? request.maxWait(Duration.ofMillis(v.get("max_wait_ms").asLong())) : request;
        request = v.has("id") ? request.id(v.get("id").asText(), Duration.ofMillis(v.path("remember_ms").asLong())) : request;
        for (Map.Entry<String, Key> field : fields(v).entrySet()) {
            request = request.field(field.getKey(), field.getValue());
        }
        return request;
    }

    private static SortedMap<String, Key> fields(JsonNode v) {
        SortedMap<String, Key> fields = new TreeMap<>();
        v.path("fields").properties().forEach(field -> fields.put(field.getKey(), Key.of(field.getValue().asText())));
        return fields;
    }

    private static List<@Nullable Long> costs(JsonNode v) {
        List<@Nullable Long> costs = new ArrayList<>();
        v.forEach(cost -> costs.add(cost.isNull() ? null : cost.asLong()));
        return costs;
    }

    private static TreeClass tree(JsonNode v) {
        return new TreeClass(
                Key.of(v.get("key").asText()), limit(v.get("assured")), limit(v.get("ceiling")), stream(v.path("under")).map(VectorsTest::keyed).toList());
    }

    private static Report report(JsonNode v) {
        Report report = Report.of(v.path("good").asLong(), v.path("bad").asLong());
        report = v.has("every_ms") ? report.every(Duration.ofMillis(v.get("every_ms").asLong())) : report;
        report = v.has("down_percent") ? report.down(v.get("down_percent").asDouble()) : report;
        report = v.has("up_percent") ? report.up(v.get("up_percent").asDouble()) : report;
        return v.has("pause_ms") ? report.pause(Duration.ofMillis(v.get("pause_ms").asLong())) : report;
    }

    private static String kind(@Nullable StintException error) {
        if (error == null) {
            return "";
        }
        if (error instanceof UnavailableException unavailable) {
            return unavailable.reason() == UnavailableException.Reason.UNCERTAIN ? "uncertain" : "unavailable";
        }
        return error.getClass().getSimpleName().replace("Exception", "").toLowerCase(Locale.ROOT);
    }

    private static JsonNode shown(String call, @Nullable Object result) {
        ObjectNode shown = JSON.createObjectNode();
        if (result instanceof Result r) {
            add(shown, r.allowed(), r.granted(), r.retryAfterMs(), r.waitMs(), r.source());
            shown.put("limit", r.limit()).put("remaining", r.remaining()).put("reset_after_ms", r.resetAfterMs());
            noted(noted(shown, "warn", r.warn()), "needs_payment", r.needsPayment());
        } else if (result instanceof MultiResult r) {
            add(shown, r.allowed(), r.granted(), r.retryAfterMs(), r.waitMs(), r.source());
            ArrayNode limits = shown.put("binding", r.binding()).putArray("limits");
            r.limits().forEach(s -> {
                ObjectNode state = s.granted() == 0 ? limits.addObject() : limits.addObject().put("granted", s.granted());
                noted(state.put("limit", s.limit()).put("remaining", s.remaining()).put("reset_after_ms", s.resetAfterMs()), "warn", s.warn());
            });
            noted(shown, "needs_payment", r.needsPayment());
        } else if (result instanceof OptionalLong left) {
            shown.put("known", left.isPresent()).put("remaining", left.orElse(0));
        } else if (result instanceof Boolean had) {
            shown.put("known", had);
        } else if (result instanceof Long balance) {
            shown.put("balance", balance);
        } else if (result instanceof Credits credits) {
            ArrayNode grants = shown.put("known", true).put("balance", credits.balance()).putArray("grants");
            for (Credits.Grant grant : credits.grants()) {
                grants.addArray().add(grant.left()).add(grant.expires() == null ? null : grant.expires().getEpochSecond());
            }
        } else if (result instanceof Usage u) {
            shown.put("known", true).set("usage", usage(u));
        } else if (result instanceof Pace pace) {
            shown.put("known", true).put("per_second", pace.perSecond()).put("pause_ms", pace.pauseMs());
        } else if (call.equals("policy_usage")) {
            ArrayNode limits = shown.putArray("limits");
            ((List<?>) result).forEach(each -> limits.add(usage((Usage) each)));
        } else if (result instanceof List<?> list) {
            ArrayNode array = shown.put("known", true).putArray(call.equals("members") ? "members" : "charges");
            for (Object each : list) {
                if (each instanceof Member m) {
                    array.addObject().put("name", m.name()).put("taken", m.taken()).put("weight", m.weight());
                } else if (each instanceof Charge c) {
                    array.addObject().put("charged", c.charged()).put("limit", c.limit()).put("remaining", c.remaining()).put("reset_after_ms", c.resetAfterMs());
                }
            }
        } else {
            assertTrue(result == null);
            shown.put("known", false);
        }
        return shown;
    }

    /** Notes what is so. Results of which it is not so have no such part. */
    private static ObjectNode noted(ObjectNode shown, String name, boolean isSo) {
        return isSo ? shown.put(name, true) : shown;
    }

    /** The names in the order of the vectors: it counts where texts are compared. */
    private static ObjectNode usage(Usage u) {
        ObjectNode shown = JSON.createObjectNode().put("end_ms", ms(u.end()));
        ArrayNode history = shown.putArray("history");
        u.history().forEach(w -> history.addArray().add(ms(w.start())).add(ms(w.end())).add(w.used()).add(w.reserved()));
        if (u.key() != null) {
            shown.put("key", u.key());
        }
        shown.put("lent", u.lent()).put("limit", u.limit()).put("remaining", u.remaining()).put("reserved", u.reserved());
        return shown.put("start_ms", ms(u.start())).put("used", u.used());
    }

    private static long ms(@Nullable Instant time) {
        return time == null ? 0 : time.toEpochMilli();
    }

    private static void add(ObjectNode shown, boolean allowed, long granted, long retryAfterMs, long waitMs, Source source) {
        shown.put("allowed", allowed).put("granted", granted).put("retry_after_ms", retryAfterMs).put("wait_ms", waitMs);
        shown.put("source", source.name().toLowerCase(Locale.ROOT));
    }
}
