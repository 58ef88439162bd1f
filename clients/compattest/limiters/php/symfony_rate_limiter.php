<?php

require __DIR__ . '/symfony.php';
require_once 'Symfony/Component/Lock/autoload.php';
require_once 'Symfony/Component/RateLimiter/autoload.php';

use Symfony\Component\Cache\Adapter\RedisAdapter;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\RedisStore;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\Storage\CacheStorage;

[$client, $policy] = [$argv[2], $argv[3]];
$limit = $policy === 'token_bucket' ? ['rate' => ['interval' => '2 seconds', 'amount' => 5]] : ['interval' => '2 seconds'];
$redis = connection($client);
$factory = new RateLimiterFactory(
    ['id' => 'calls', 'policy' => $policy, 'limit' => 5] + $limit,
    new CacheStorage(new RedisAdapter($redis)),
    new LockFactory(new RedisStore($redis))
);

serve('symfony/rate-limiter', 'php-symfony-rate-limiter', function (string $key) use ($factory) {
    $limiter = $factory->create($key);
    return fn () => $limiter->consume()->isAccepted();
});
