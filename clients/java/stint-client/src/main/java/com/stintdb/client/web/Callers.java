package com.stintdb.client.web;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.regex.Pattern;

/** Names of callers that are known by their address alone, or not at all. */
public final class Callers {
    /** The caller of a policy whose key is "", the same in the clients of all languages: policies take no empty id. */
    public static final String ANONYMOUS = "anonymous";

    private static final Pattern LITERAL = Pattern.compile("[0-9A-Fa-f:.]+"); // no name to resolve
    private static final byte[] NAT64 = HexFormat.of().parseHex("0064ff9b0000000000000000"); // RFC 6052: behind it each IPv4 address is another caller

    private Callers() {}

    /** "address:" and the caller's address; of IPv6 only its /64, which one caller has as a whole. A text that is no address stands as it is. */
    public static String ofAddress(String address) {
        String bare = address.split("%", 2)[0];
        if (!LITERAL.matcher(bare).matches()) {
            return "address:" + address;
        }
        try {
            return "address:" + network(InetAddress.getByName(bare));
        } catch (UnknownHostException e) {
            return "address:" + address;
        }
    }

    private static String network(InetAddress address) throws UnknownHostException {
        byte[] bytes = address.getAddress(); // four of an IPv4 address that is written as one of IPv6
        if (bytes.length == 4) {
            return address.getHostAddress();
        }
        if (Arrays.equals(Arrays.copyOf(bytes, 12), NAT64)) {
            return InetAddress.getByAddress(Arrays.copyOfRange(bytes, 12, 16)).getHostAddress();
        }
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 8; i += 2) {
            text.append(Integer.toHexString((bytes[i] & 0xff) << 8 | bytes[i + 1] & 0xff)).append(':');
        }
        return text.append(":/64").toString();
    }
}
