import java.util.List;

/** What the contract needs of a library. Each method is written the way that library's users would write it. */
interface Client extends AutoCloseable {
    String CLIENT_NAME = "stint-compat";

    /** What the commands on keys say about one key. */
    record State(boolean exists, String type, long ttl, long pttl) {}

    String ping();

    /** CLIENT INFO. */
    String info();

    Object send(String... command);

    /** A reply or an exception for each command. */
    List<Object> pipeline(List<String[]> commands);

    /** MULTI … EXEC. */
    List<Object> transaction(List<String[]> commands);

    long del(String key);

    State state(String key);

    /** Whether it is of the type that the library keeps for error replies. */
    boolean isServerError(Object thrown);

    @Override
    void close();
}
