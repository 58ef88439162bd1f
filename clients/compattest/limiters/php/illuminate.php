<?php

require __DIR__ . '/serve.php';
require_once 'Illuminate/Redis/autoload.php';

use Illuminate\Redis\RedisManager;

// manager returns Laravel's connections to Redis, with a client that is phpredis or predis.
function manager(string $client, int $database): RedisManager
{
    $server = ['host' => HOST, 'port' => PORT, 'database' => $database];
    return new RedisManager(null, $client, ['default' => $server, 'options' => ['prefix' => 'laravel_database_']]);
}
