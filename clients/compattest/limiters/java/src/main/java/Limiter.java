import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Path;

/**
 * The common part of the programs, each of which limits calls with one library as its users do.
 *
 * <p>A program prints "uses LIBRARY", the name of its jar. For each line "KEY CALLS" of its standard input it then makes
 * that many calls with a new limiter and prints "passed N" with the number that passed, or "failed" and the reason.
 */
interface Limiter {
  /** Makes one call, and reports whether the limit lets it pass. */
  boolean call() throws Exception;

  /** Makes the limiter of a key. */
  interface Maker {
    Limiter make(String key) throws Exception;
  }

  static void serve(Class<?> library, Maker maker) throws Exception {
    Path jar = Path.of(library.getProtectionDomain().getCodeSource().getLocation().toURI());
    System.out.println("uses " + jar.getFileName().toString().replace(".jar", ""));
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      System.out.println(answer(maker, line.split(" ")));
    }
    System.exit(0); // The libraries keep threads.
  }

  private static String answer(Maker maker, String[] request) {
    try {
      Limiter limiter = maker.make(request[0]);
      int passed = 0;
      for (int i = Integer.parseInt(request[1]); i > 0; i--) {
        passed += limiter.call() ? 1 : 0;
      }
      return "passed " + passed;
    } catch (Exception e) {
      return "failed " + String.valueOf(e).replace("\n", " ");
    }
  }
}
