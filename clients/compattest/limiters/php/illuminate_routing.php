<?php

require __DIR__ . '/illuminate.php';
require_once 'Illuminate/Cache/autoload.php';
require_once 'Illuminate/Http/autoload.php';
require_once 'Illuminate/Routing/autoload.php';

use Illuminate\Cache\ArrayStore;
use Illuminate\Cache\RateLimiter;
use Illuminate\Cache\Repository;
use Illuminate\Http\Exceptions\ThrottleRequestsException;
use Illuminate\Http\Request;
use Illuminate\Http\Response;
use Illuminate\Routing\Middleware\ThrottleRequestsWithRedis;

$throttle = new ThrottleRequestsWithRedis(new RateLimiter(new Repository(new ArrayStore())), manager(VARIATION, 0));

serve('illuminate/routing', 'php-illuminate-routing', function (string $key) use ($throttle) {
    $user = new class ($key) {
        public function __construct(private string $key)
        {
        }

        public function getAuthIdentifier(): string
        {
            return $this->key;
        }
    };
    $request = Request::create('/');
    $request->setUserResolver(fn () => $user);
    return function () use ($throttle, $request) {
        try {
            return $throttle->handle($request, fn () => new Response('page'), 5, 2 / 60)->getContent() === 'page';
        } catch (ThrottleRequestsException) {
            return false;
        }
    };
});
