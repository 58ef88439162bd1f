<?php

require __DIR__ . '/serve.php';
require_once 'Predis/autoload.php';
require_once 'Symfony/Component/Cache/autoload.php';

use Symfony\Component\Cache\Adapter\RedisAdapter;

// connection returns what Symfony connects with a client, which is Redis (phpredis) or Predis\Client.
function connection(string $client): object
{
    return RedisAdapter::createConnection('redis://' . ADDRESS, ['class' => $client]);
}
