<?php

require __DIR__ . '/symfony.php';
require_once 'Symfony/Component/Semaphore/autoload.php';

use Symfony\Component\Semaphore\SemaphoreFactory;
use Symfony\Component\Semaphore\Store\RedisStore;

$factory = new SemaphoreFactory(new RedisStore(connection(VARIATION)));

// Five holders, each of which is forgotten after two seconds.
serve('symfony/semaphore', 'php-symfony-semaphore', fn (string $key) => fn () => $factory->createSemaphore($key, 5, 1, 2.0, false)->acquire());
