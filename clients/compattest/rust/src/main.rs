//! Uses a Stint server through redis-rs, unchanged, and checks every reply.
//!
//! The server's address comes from STINT_ADDR. Each protocol prints one line, "redis-rs RESP3: 150 checks"; a wrong
//! reply is printed too, and the program exits with 1.

mod contract;

use contract::Contract;
use std::process::ExitCode;

fn main() -> ExitCode {
    let address = std::env::var("STINT_ADDR").expect("STINT_ADDR, the address of a Stint server");
    let mut failed = false;
    for (name, protocol, url) in [
        ("redis-rs RESP2", 2, format!("redis://{address}")),
        ("redis-rs RESP3", 3, format!("redis://{address}/?protocol=resp3")),
    ] {
        let client = redis::Client::open(url).expect("a valid address");
        let mut contract = Contract::new(name, protocol, client);
        if let Err(error) = contract.run() {
            contract.check(false, format!("gave up: {error}"));
        }
        println!("{name}: {} checks", contract.checks);
        failed |= contract.failures > 0 || contract.checks == 0;
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
