<?php

require __DIR__ . '/illuminate.php';
require_once 'Illuminate/Cache/autoload.php';

use Illuminate\Cache\RateLimiter;
use Illuminate\Cache\RedisStore;
use Illuminate\Cache\Repository;

// Laravel's cache is in database 1 unless its user says otherwise.
$limiter = new RateLimiter(new Repository(new RedisStore(manager(VARIATION, (int) ($argv[3] ?? 1)), 'laravel_cache_')));

serve('illuminate/cache', 'php-illuminate-cache', fn (string $key) => fn () => $limiter->attempt($key, 5, fn () => true, 2));
