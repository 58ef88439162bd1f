<?php

require __DIR__ . '/illuminate.php';

use Illuminate\Redis\Limiters\ConcurrencyLimiter;

[$client, $limiter] = [$argv[2], $argv[3]];
$redis = manager($client, 0)->connection();
$limiters = [
    // Five calls in two seconds.
    'throttle' => fn (string $key) => fn () => $redis->throttle($key)->allow(5)->every(2)->block(0)->then(fn () => true, fn () => false),
    // Five slots, each of which is held for two seconds.
    'funnel' => function (string $key) use ($redis) {
        $slots = new ConcurrencyLimiter($redis, $key, 5, 2);
        return function () use ($slots) {
            try {
                return $slots->block(0);
            } catch (Illuminate\Contracts\Redis\LimiterTimeoutException) {
                return false;
            }
        };
    },
];

serve('illuminate/redis', 'php-illuminate-redis', $limiters[$limiter]);
