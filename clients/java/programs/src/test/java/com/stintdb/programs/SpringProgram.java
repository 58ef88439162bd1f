package com.stintdb.programs;

import com.stintdb.test.StintServer;
import io.lettuce.core.RedisClient;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import java.net.URI;
import java.net.URLClassLoader;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringApplicationRunListener;
import org.springframework.context.ConfigurableApplicationContext;

/** A program of the page with Spring Boot: its requests are sent to it, with the properties before it in the page and the page's policies. */
final class SpringProgram {
    /** The address of the service behind a gateway, in the page. */
    static final String BACKEND = "http://127.0.0.1:9000";

    private static final Pattern POLICY = Pattern.compile("\\$ redis-cli (RL\\.POLICY) (SET .*)");
    private static final Pattern REQUEST = Pattern.compile("GET (\\S+): ([0-9]+) (?:(\\S+): )?(.*)");

    private final String page;
    private final StintServer server;
    private final URLClassLoader loader;
    private final String name;

    SpringProgram(String page, StintServer server, URLClassLoader loader, String name) {
        this.page = page;
        this.server = server;
        this.loader = loader;
        this.name = name;
    }

    /** The same lines with the answers that the program gives. */
    String answersTo(String lines) throws Exception {
        storePolicies();
        AtomicReference<ConfigurableApplicationContext> context = new AtomicReference<>();
        SpringApplicationRunListener listener = new SpringApplicationRunListener() {
            @Override
            public void contextPrepared(ConfigurableApplicationContext prepared) {
                context.set(prepared);
            }
        };
        ClassLoader before = Thread.currentThread().getContextClassLoader();
        Thread.currentThread().setContextClassLoader(loader);
        try {
            SpringApplication.withHook(application -> listener, () -> main());
            StringBuilder answers = new StringBuilder();
            for (String line : lines.split("\n")) {
                answers.append(answer(context.get().getEnvironment().getProperty("local.server.port"), line)).append('\n');
            }
            return answers.toString();
        } finally {
            Thread.currentThread().setContextClassLoader(before);
            if (context.get() != null) {
                context.get().close();
            }
            loader.close();
        }
    }

    private void main() {
        List<String> arguments = new ArrayList<>();
        String before = page.substring(0, page.indexOf("SpringApplication.run(" + name.replaceAll(".*\\.", "") + ".class"));
        for (String line : before.substring(before.lastIndexOf("```properties\n")).split("```")[1].lines().skip(1).toList()) {
            arguments.add("--" + line);
        }
        arguments.removeIf(argument -> argument.startsWith("--stint.addresses"));
        arguments.addAll(List.of(
                "--stint.addresses=" + server.url(), "--stint.timeout=30s", "--stint.connect-timeout=30s", "--server.port=0", "--server.address=127.0.0.1",
                "--server.shutdown=immediate", "--spring.main.banner-mode=off", "--logging.level.root=warn"));
        try {
            loader.loadClass(name).getMethod("main", String[].class).invoke(null, (Object) arguments.toArray(new String[0]));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private void storePolicies() {
        RedisClient client = RedisClient.create(server.url());
        try (var connection = client.connect()) {
            Matcher policy = POLICY.matcher(page);
            while (policy.find()) {
                CommandArgs<String, String> words = new CommandArgs<>(StringCodec.UTF8);
                for (String word : policy.group(2).split(" ")) {
                    words.add(word.replace("'", ""));
                }
                connection.sync().dispatch(() -> policy.group(1).getBytes(StandardCharsets.US_ASCII), new StatusOutput<>(StringCodec.UTF8), words);
            }
        } finally {
            client.shutdown();
        }
    }

    /** The answer to the request of a line, with the field or else the body that the line shows. A shorter time to wait stands as it is in the line. */
    private static String answer(String port, String line) throws Exception {
        Matcher expected = REQUEST.matcher(line);
        if (!expected.matches()) {
            throw new IllegalArgumentException("a line is GET PATH: STATUS BODY, or GET PATH: STATUS FIELD: VALUE, got " + line);
        }
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + expected.group(1))).build();
        HttpResponse<String> response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        String start = "GET " + expected.group(1) + ": " + response.statusCode() + " ";
        String field = expected.group(3);
        if (field == null) {
            return start + response.body();
        }
        String value = response.headers().firstValue(field).orElse("");
        boolean isSooner = field.equals("Retry-After") && value.matches("[0-9]+") && Integer.parseInt(value) <= Integer.parseInt(expected.group(4));
        return start + field + ": " + (isSooner ? expected.group(4) : value);
    }
}
