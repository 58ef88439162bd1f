package com.stintdb.programs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import com.stintdb.test.StintServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** Compiles and runs the programs of docs/clients-java.md, and compares their output. */
class ProgramsTest {
    private static final Pattern PROGRAM = Pattern.compile("```java\\n(.*?)```\\n\\n```text\\n(.*?)```", Pattern.DOTALL);
    private static final Pattern NAME = Pattern.compile("public class (\\w+)");
    private static final Pattern PACKAGE = Pattern.compile("^package ([\\w.]+);"); // a program with Spring Boot needs one: it looks for beans there

    private static StintServer server;
    private static Backend backend;

    @TempDir
    private static Path folder;

    @BeforeAll
    static void start() throws IOException {
        backend = new Backend();
        server = StintServer.start(Path.of(System.getenv("SERVER_BINARY")));
    }

    @AfterAll
    static void stop() {
        server.close();
        backend.close();
    }

    @TestFactory
    Stream<DynamicTest> programs() throws Exception {
        String page = Files.readString(Path.of(System.getProperty("repository"), "docs/clients-java.md"));
        assertEquals(page.split("```java").length - 1, PROGRAM.matcher(page).results().count(), "programs without their output");
        return PROGRAM.matcher(page).results().map(found -> {
            String program = found.group(1);
            String name = nameOf(program);
            return DynamicTest.dynamicTest(name, () -> {
                compile(name, program);
                assertEquals(found.group(2), program.contains("@SpringBootApplication")
                        ? new SpringProgram(page, server, loader(), name).answersTo(found.group(2))
                        : outputOf(name));
            });
        });
    }

    private static String nameOf(String program) {
        Matcher name = NAME.matcher(program);
        assertNotEquals(false, name.find());
        Matcher found = PACKAGE.matcher(program);
        return (found.find() ? found.group(1) + "." : "") + name.group(1);
    }

    private static void compile(String name, String program) throws Exception {
        Path file = folder.resolve(name.replaceAll(".*\\.", "") + ".java");
        // On a busy machine a reply may take longer than the usual timeout.
        String patient = "Limiter.builder(Policy.$2, $1).timeout(java.time.Duration.ofSeconds(30)).build()";
        Files.writeString(file, program
                .replaceAll("Limiter\\.connect\\((.*), Policy\\.(\\w+\\(\\))\\)", patient)
                .replace("redis://127.0.0.1:6379", server.url())
                .replace(SpringProgram.BACKEND, backend.url()));
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        int failures = ToolProvider.getSystemJavaCompiler()
                .run(null, output, output, "-parameters", "-d", folder.toString(), "-cp", System.getProperty("java.class.path"), file.toString());
        assertEquals(0, failures, output::toString);
    }

    private static URLClassLoader loader() throws IOException {
        return new URLClassLoader(new URL[] {folder.toUri().toURL()});
    }

    private static String outputOf(String name) throws Exception {
        PrintStream before = System.out;
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        try (URLClassLoader loader = loader(); PrintStream captured = new PrintStream(output, true, StandardCharsets.UTF_8)) {
            System.setOut(captured);
            loader.loadClass(name).getMethod("main", String[].class).invoke(null, (Object) new String[0]);
        } finally {
            System.setOut(before);
        }
        return output.toString(StandardCharsets.UTF_8);
    }
}
