package com.stintdb.client;

import com.stintdb.client.internal.Rates;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Prices in dollars for a million units, by model and kind of unit, such as "2.50" for the input tokens of a model. That is also the price of one unit in
 * micro-dollars, in which budgets count. It never changes.
 */
public final class Prices {
    private static final Pattern PRICE = Pattern.compile("[0-9]{1,6}(\\.[0-9]{1,9})?");

    private final Map<String, Map<String, BigDecimal>> perUnit = new HashMap<>(); // micro-dollars

    private Prices() {}

    /** Reads prices: decimals below a million, with at most nine digits behind the point. It throws {@link InvalidException} for any other. */
    public static Prices of(Map<String, Map<String, String>> dollarsPerMillion) {
        Prices prices = new Prices();
        dollarsPerMillion.forEach((model, kinds) -> {
            Map<String, BigDecimal> perUnit = new HashMap<>();
            kinds.forEach((kind, text) -> perUnit.put(kind, read(model, kind, text)));
            prices.perUnit.put(model, perUnit);
        });
        return prices;
    }

    private static BigDecimal read(String model, String kind, String text) {
        if (!PRICE.matcher(text).matches()) {
            throw new InvalidException(
                    "prices: " + model + ", " + kind + ": must be dollars for a million units such as \"2.50\", got " + Rates.quote(text));
        }
        return new BigDecimal(text);
    }

    /**
     * The cost of a request in micro-dollars: all its units at their prices, added up exactly and rounded up once. It throws {@link InvalidException} for a
     * model or kind without a price, and for a cost above a million dollars.
     */
    public long cost(String model, Map<String, Long> usage) {
        Map<String, BigDecimal> prices = perUnit.get(model);
        if (prices == null) {
            throw new InvalidException("model: there are no prices of " + Rates.quote(model));
        }
        BigDecimal sum = BigDecimal.ZERO;
        for (Map.Entry<String, Long> each : usage.entrySet()) {
            BigDecimal price = prices.get(each.getKey());
            long n = each.getValue();
            if (price == null || n < 0) {
                throw new InvalidException(
                        "usage: " + n + " of " + Rates.quote(each.getKey()) + " of " + Rates.quote(model) + ": there must be a price, and an integer of at least 0");
            }
            sum = sum.add(price.multiply(BigDecimal.valueOf(n)));
        }
        BigDecimal cost = sum.setScale(0, RoundingMode.CEILING);
        if (cost.compareTo(BigDecimal.valueOf(Rates.MOST_TOKENS)) > 0) {
            throw new InvalidException("usage: it costs more than a million dollars, got " + usage);
        }
        return cost.longValueExact();
    }
}
