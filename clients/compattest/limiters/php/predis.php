<?php

require __DIR__ . '/serve.php';
require_once 'Predis/autoload.php';

// A script as a command, which Predis sends as EVALSHA, and as EVAL where the server does not know it.
class FixedWindow extends Predis\Command\ScriptCommand
{
    protected function getKeysCount()
    {
        return 1;
    }

    public function getScript()
    {
        return file_get_contents(__DIR__ . '/../testdata/fixed_window.lua');
    }
}

$client = new Predis\Client('tcp://' . ADDRESS . VARIATION);
$client->getProfile()->defineCommand('allow', FixedWindow::class);

serve('Predis', 'php-predis', fn (string $key) => fn () => $client->allow($key, 5, 2) === 1);
