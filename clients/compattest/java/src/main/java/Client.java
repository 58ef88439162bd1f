import java.util.List;

/** The part of a library that the contract needs. Each method is written in the style of that library's users. */
interface Client extends AutoCloseable {
    String CLIENT_NAME = "stint-compat";

    /** The replies of the commands on keys for one key. */
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

    /** Whether it has the library's type for error replies. */
    boolean isServerError(Object thrown);

    @Override
    void close();
}
