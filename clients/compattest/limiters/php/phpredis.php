<?php

require __DIR__ . '/serve.php';

$redis = new Redis();
$redis->connect(HOST, PORT);

// A log in a sorted set, in a transaction.
serve('phpredis', 'php-redis', fn (string $key) => function () use ($redis, $key) {
    $now = (int) (microtime(true) * 1e6);
    [, $calls] = $redis->multi()
        ->zRemRangeByScore($key, '-inf', (string) ($now - 2_000_000))
        ->zCard($key)
        ->zAdd($key, $now, uniqid('', true))
        ->expire($key, 2)
        ->exec();
    return $calls < 5;
});
