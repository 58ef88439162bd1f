use redis::{Client, Cmd, Connection, ErrorKind, RedisError, RedisResult, cmd, pipe};
use redis::{IntegerReplyOrNoOp, TypedCommands, Value};
use std::thread;

const CLIENT_NAME: &str = "stint-compat";

/// The five integers of a limiter's reply.
type Reply = [i64; 5];

/// The checks that every client library of every language runs; ../../README.md lists them.
///
/// Limits refill so slowly (a token an hour, a token a day) that no reply depends on how fast the test runs.
pub struct Contract {
    name: &'static str,
    protocol: u8,
    client: Client,
    pub checks: u32,
    pub failures: u32,
}

impl Contract {
    pub fn new(name: &'static str, protocol: u8, client: Client) -> Self {
        Self { name, protocol, client, checks: 0, failures: 0 }
    }

    pub fn run(&mut self) -> RedisResult<()> {
        let mut con = self.client.get_connection()?;
        self.handshake(&mut con)?;
        self.pipelined(&mut con)?;
        self.token_bucket(&mut con)?;
        self.errors(&mut con)?;
        self.transaction(&mut con)?;
        self.keys(&mut con)?;
        self.concurrency(&mut con)
    }

    fn handshake(&mut self, con: &mut Connection) -> RedisResult<()> {
        let pong = con.ping()?;
        self.check(pong == "PONG", format!("PING: got {pong}"));

        con.client_setname(CLIENT_NAME)?;
        let info: String = cmd("CLIENT").arg("INFO").query(con)?;
        let wants = [format!("name={CLIENT_NAME}"), format!("resp={}", self.protocol), "lib-name=redis-rs".into()];
        for want in wants {
            self.check(info.split_whitespace().any(|field| field == want), format!("CLIENT INFO: no {want} in {info}"));
        }
        Ok(())
    }

    fn pipelined(&mut self, con: &mut Connection) -> RedisResult<()> {
        let key = self.fresh(con, "pipeline")?;
        let mut pipeline = pipe();
        for _ in 0..100 {
            pipeline.add_command(throttle(&key));
        }
        let replies: Vec<Reply> = pipeline.query(con)?;
        self.check(replies.len() == 100, format!("pipeline: {} replies to 100 commands", replies.len()));
        for (i, reply) in replies.into_iter().enumerate() {
            let [limited, limit, remaining, retry, reset] = reply;
            let ok = if i < 5 {
                [limited, limit, remaining, retry] == [0, 5, 4 - i as i64, -1] && reset > 0
            } else {
                [limited, limit, remaining] == [1, 5, 0] && (1..=86400).contains(&retry) && reset > 0
            };
            self.check(ok, format!("pipeline: reply {}: got {reply:?}", i + 1));
        }
        Ok(())
    }

    fn token_bucket(&mut self, con: &mut Connection) -> RedisResult<()> {
        let key = self.fresh(con, "bucket")?;
        self.reply(con, "1 10 9 0 12000", &bucket(&key, "5/m"))?;

        let key = self.fresh(con, "options")?;
        self.reply(con, "4 10 6 0 *", bucket(&key, "1/h").arg(4))?;
        self.reply(con, "6 10 * 0 *", bucket(&key, "1/h").arg(6).arg("PEEK"))?;
        self.reply(con, "6 10 0 0 *", bucket(&key, "1/h").arg(10).arg("UPTO"))?;
        self.reply(con, "0 10 0 + *", &bucket(&key, "1/h"))?;
        self.reply(con, "0 10 0 -1 *", bucket(&key, "1/h").arg(11))?;

        let key = [self.name.as_bytes(), b" binary\x00\xff\r\n"].concat();
        con.del(&key)?;
        self.reply(con, "1 10 9 0 12000", cmd("TB.ACQUIRE").arg(key).arg(10).arg("5/m"))
    }

    fn errors(&mut self, con: &mut Connection) -> RedisResult<()> {
        let key = self.fresh(con, "errors")?;
        let not_an_integer = "capacity: must be an integer between 1 and 1000000000000, got 'ten'";
        self.fails(con, not_an_integer, cmd("TB.ACQUIRE").arg(&key).arg("ten").arg(1));
        self.fails(con, "wrong number of arguments for 'tb.acquire' command", cmd("TB.ACQUIRE").arg(&key));
        self.fails(con, "unknown command 'TB.NONSUCH'", cmd("TB.NONSUCH").arg(&key));
        self.reply(con, "0 5 4 -1 86400", &throttle(&key))?;
        self.fails(con, "WRONGTYPE", &bucket(&key, "1"));

        // An error in a pipeline is the answer to one command and to no other.
        let key = self.fresh(con, "mixed")?;
        let mut pipeline = pipe();
        pipeline.add_command(bucket(&key, "1/h")).add_command(bucket(&key, "fast")).add_command(bucket(&key, "1/h"));
        let [first, second, third]: [RedisResult<Reply>; 3] = pipeline.ignore_errors().query(con)?;
        self.check(matches(first.as_ref().ok(), "1 10 9 0 *"), format!("mixed pipeline: reply 1: got {first:?}"));
        self.check(
            second.as_ref().is_err_and(|error| surfaces(error, "rate: ")),
            format!("mixed pipeline: reply 2: got {second:?}"),
        );
        self.check(matches(third.as_ref().ok(), "1 10 8 0 *"), format!("mixed pipeline: reply 3: got {third:?}"));
        Ok(())
    }

    fn transaction(&mut self, con: &mut Connection) -> RedisResult<()> {
        let key = self.fresh(con, "transaction-1")?;
        let other = self.fresh(con, "transaction-2")?;
        let mut transaction = pipe();
        transaction.atomic().add_command(throttle(&key)).add_command(throttle(&key)).add_command(bucket(&other, "5/m"));
        let replies: [Reply; 3] = transaction.query(con)?;
        for (reply, want) in replies.iter().zip(["0 5 4 -1 86400", "0 5 3 -1 +", "1 10 9 0 12000"]) {
            self.check(matches(Some(reply), want), format!("EXEC: got {reply:?}, want {want}"));
        }
        Ok(())
    }

    fn keys(&mut self, con: &mut Connection) -> RedisResult<()> {
        let key = self.fresh(con, "keys-1")?;
        let other = self.fresh(con, "keys-2")?;
        self.reply(con, "0 5 4 -1 86400", &throttle(&key))?;
        self.reply(con, "1 10 9 0 3600000", &bucket(&other, "1/h"))?;
        for (key, kind, seconds) in [(&key, "gcra", 86400), (&other, "token-bucket", 3600)] {
            let (exists, got) = (con.exists(key)?, con.key_type(key)?);
            let (ttl, pttl) = (con.ttl(key)?.raw(), con.pttl(key)?.raw());
            self.check(exists, "EXISTS: got false".into());
            self.check(String::from(got.clone()) == kind, format!("TYPE: got {got:?}, want {kind}"));
            self.check((1..=seconds).contains(&ttl), format!("TTL: got {ttl}"));
            self.check((1..=seconds * 1000).contains(&pttl), format!("PTTL: got {pttl}"));
        }

        let deleted = con.del(&key)?;
        self.check(deleted == 1, format!("DEL: got {deleted}"));
        let exists = con.exists(&key)?;
        self.check(!exists, "after DEL: EXISTS: got true".into());
        let ttl = con.ttl(&key)?;
        self.check(ttl == IntegerReplyOrNoOp::NotExists, format!("after DEL: TTL: got {ttl:?}"));
        self.reply(con, "0 5 4 -1 86400", &throttle(&key))
    }

    /// Eight clients ask fifty times each for one of fifty tokens.
    fn concurrency(&mut self, con: &mut Connection) -> RedisResult<()> {
        let key = self.fresh(con, "concurrency")?;
        let ask = || -> RedisResult<i64> {
            let mut con = self.client.get_connection()?;
            let mut granted = 0;
            for _ in 0..50 {
                let [n, ..]: Reply = cmd("TB.ACQUIRE").arg(&key).arg(50).arg("1/h").query(&mut con)?;
                granted += n;
            }
            Ok(granted)
        };
        let granted: RedisResult<Vec<i64>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let granted: i64 = granted?.iter().sum();
        self.check(granted == 50, format!("concurrency: {granted} granted of 50"));
        Ok(())
    }

    pub fn check(&mut self, ok: bool, text: String) {
        self.checks += 1;
        if !ok {
            self.failures += 1;
            eprintln!("{}: FAILED: {text}", self.name);
        }
    }

    /// A new key of this client, reset.
    fn fresh(&self, con: &mut Connection, name: &str) -> RedisResult<String> {
        let key = format!("{} {name}", self.name);
        con.del(&key)?;
        Ok(key)
    }

    fn reply(&mut self, con: &mut Connection, want: &str, command: &Cmd) -> RedisResult<()> {
        let got: Reply = command.query(con)?;
        self.check(matches(Some(&got), want), format!("{}: got {got:?}, want {want}", text_of(command)));
        Ok(())
    }

    fn fails(&mut self, con: &mut Connection, text: &str, command: &Cmd) {
        let got: RedisResult<Value> = command.query(con);
        let ok = got.as_ref().is_err_and(|error| surfaces(error, text));
        self.check(ok, format!("{}: got {got:?}, want {text}", text_of(command)));
    }
}

fn throttle(key: &str) -> Cmd {
    let mut command = cmd("CL.THROTTLE");
    command.arg(key).arg(4).arg(1).arg(86400);
    command
}

fn bucket(key: &str, rate: &str) -> Cmd {
    let mut command = cmd("TB.ACQUIRE");
    command.arg(key).arg(10).arg(rate);
    command
}

fn text_of(command: &Cmd) -> String {
    String::from_utf8_lossy(&command.get_packed_command()).replace("\r\n", " ")
}

/// Whether the error is an error reply, with this text in its code or its detail.
fn surfaces(error: &RedisError, text: &str) -> bool {
    matches!(error.kind(), ErrorKind::Server(_) | ErrorKind::Extension) && error.to_string().contains(text)
}

/// Compares five integers to a pattern: * is any of them, + one above zero.
fn matches(reply: Option<&Reply>, pattern: &str) -> bool {
    reply.is_some_and(|reply| {
        reply.iter().zip(pattern.split(' ')).all(|(got, want)| match want {
            "*" => true,
            "+" => *got > 0,
            _ => got.to_string() == want,
        })
    })
}
