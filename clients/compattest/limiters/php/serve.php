<?php

// The common part of the programs, each of which limits calls with one library as its users do.
//
// A program prints "uses LIBRARY VERSION". For each line "KEY CALLS" of its standard input it then makes that many calls
// with a new limiter and prints "passed N" with the number that passed, or "failed" and the reason.

error_reporting(E_ALL & ~E_DEPRECATED); // of libraries that are older than Debian's PHP

define('ADDRESS', $argv[1]);
define('HOST', explode(':', ADDRESS)[0]);
define('PORT', (int) explode(':', ADDRESS)[1]);
define('VARIATION', $argv[2] ?? '');

// serve answers the lines. open makes the limiter of a key and returns the function that makes one call.
function serve(string $library, string $package, callable $open): void
{
    echo "uses $library ", version($package), "\n";
    while (($line = fgets(STDIN)) !== false) {
        [$key, $calls] = explode(' ', trim($line));
        try {
            $call = $open($key);
            $passed = 0;
            for ($i = 0; $i < (int) $calls; $i++) {
                $passed += $call() ? 1 : 0;
            }
            echo "passed $passed\n";
        } catch (Throwable $error) {
            echo 'failed ', get_class($error), ' ', strtr($error->getMessage(), "\n", ' '), "\n";
        }
    }
}

// version returns the first two numbers of a Debian package's version. Debian changes only the others in a release.
function version(string $package): string
{
    preg_match('/^(?:\d+:)?(\d+\.\d+)/', shell_exec("dpkg-query --show --showformat '\${Version}' $package"), $found);
    return $found[1];
}
