export const CLIENT_NAME = "stint-compat";

// Contract runs the checks that every client library of every language runs; ../README.md lists them.
// Limits refill so slowly (a token an hour, a token a day) that no reply depends on how fast the test runs.
export class Contract {
  checks = 0;
  failures = 0;

  // transfer transfers the leadership to another node, if the client is one for clusters.
  constructor(name, library, protocol, connect, transfer) {
    Object.assign(this, { name, library, protocol, connect, transfer });
  }

  async run() {
    try {
      this.client = await this.connect();
      await this.handshake();
      await this.pipelined();
      await this.tokenBucket();
      await this.errors();
      await this.transaction();
      await this.keys();
      await this.concurrency();
      if (this.transfer) {
        await this.follow();
      }
    } catch (error) {
      this.check(false, `gave up: ${error.stack}`);
    } finally {
      await this.client?.close();
    }
  }

  // database checks that a number in the address chooses a database. connect connects by an address.
  async database(connect) {
    const clients = [];
    for (const number of [0, 5]) {
      const client = await connect(`redis://${process.env.STINT_ADDR}/${number}`);
      clients.push([number, client]);
      await client.send("SET", this.name, `in ${number}`);
    }
    for (const [number, client] of clients) {
      const got = await client.send("GET", this.name);
      this.check(got === `in ${number}`, `GET in database ${number}: got ${got}`);
      const info = await client.info();
      this.check(info.includes(` db=${number} `), `CLIENT INFO in database ${number}: got ${info}`);
      this.check((await client.del(this.name)) === 1, `DEL in database ${number}`);
      await client.close();
    }
  }

  async handshake() {
    const pong = await this.client.ping();
    this.check(pong === "PONG", `PING: got ${pong}`);

    const info = await this.client.info();
    const fields = new Map(info.trim().split(" ").map((field) => field.split("=")));
    for (const [field, want] of [["name", CLIENT_NAME], ["resp", `${this.protocol}`], ["lib-name", this.library]]) {
      this.check(fields.get(field) === want, `CLIENT INFO: got ${field}=${fields.get(field)}, want ${want}`);
    }
  }

  async pipelined() {
    const key = await this.fresh("pipeline");
    const replies = await this.client.pipeline(Array(100).fill(["CL.THROTTLE", key, "4", "1", "86400"]));
    this.check(replies.length === 100, `pipeline: ${replies.length} replies to 100 commands`);
    replies.forEach((reply, i) => {
      const ok = i < 5 ? matches(reply, `0 5 ${4 - i} -1 +`) : matches(reply, "1 5 0 + +") && reply[3] <= 86400;
      this.check(ok, `pipeline: reply ${i + 1}: got ${reply}`);
    });
  }

  async tokenBucket() {
    let key = await this.fresh("bucket");
    await this.reply("1 10 9 0 12000", "TB.ACQUIRE", key, "10", "5/m");

    key = await this.fresh("options");
    await this.reply("4 10 6 0 *", "TB.ACQUIRE", key, "10", "1/h", "4");
    await this.reply("6 10 * 0 *", "TB.ACQUIRE", key, "10", "1/h", "6", "PEEK");
    await this.reply("6 10 0 0 *", "TB.ACQUIRE", key, "10", "1/h", "10", "UPTO");
    await this.reply("0 10 0 + *", "TB.ACQUIRE", key, "10", "1/h");
    await this.reply("0 10 0 -1 *", "TB.ACQUIRE", key, "10", "1/h", "11");

    key = Buffer.from(await this.fresh("binary\x00\xff\r\n"), "latin1");
    await this.client.del(key);
    await this.reply("1 10 9 0 12000", "TB.ACQUIRE", key, "10", "5/m");
  }

  async errors() {
    let key = await this.fresh("errors");
    const notAnInteger = "capacity: must be an integer between 1 and 1000000000000, got 'ten'";
    await this.fails(notAnInteger, "TB.ACQUIRE", key, "ten", "1");
    await this.fails("wrong number of arguments for 'tb.acquire' command", "TB.ACQUIRE", key);
    await this.fails("unknown command 'TB.NONSUCH'", "TB.NONSUCH", key);
    await this.reply("0 5 4 -1 86400", "CL.THROTTLE", key, "4", "1", "86400");
    await this.fails("WRONGTYPE", "TB.ACQUIRE", key, "10", "1");

    // An error in a pipeline is the answer to one command and to no other.
    key = await this.fresh("mixed");
    const rates = ["1/h", "fast", "1/h"];
    const [first, second, third] = await this.client.pipeline(rates.map((rate) => ["TB.ACQUIRE", key, "10", rate]));
    this.check(matches(first, "1 10 9 0 *"), `mixed pipeline: reply 1: got ${first}`);
    const surfaced = this.client.isServerError(second) && second.message.includes("rate: ");
    this.check(surfaced, `mixed pipeline: reply 2: got ${second}`);
    this.check(matches(third, "1 10 8 0 *"), `mixed pipeline: reply 3: got ${third}`);
  }

  async transaction() {
    const [throttle, bucket] = [await this.fresh("transaction-1"), await this.fresh("transaction-2")];
    const replies = await this.client.transaction([
      ["CL.THROTTLE", throttle, "4", "1", "86400"],
      ["CL.THROTTLE", throttle, "4", "1", "86400"],
      ["TB.ACQUIRE", bucket, "10", "5/m"],
    ]);
    ["0 5 4 -1 86400", "0 5 3 -1 +", "1 10 9 0 12000"].forEach((want, i) => {
      this.check(matches(replies[i], want), `EXEC: reply ${i + 1}: got ${replies[i]}, want ${want}`);
    });
  }

  async keys() {
    const [throttle, bucket] = [await this.fresh("keys-1"), await this.fresh("keys-2")];
    await this.reply("0 5 4 -1 86400", "CL.THROTTLE", throttle, "4", "1", "86400");
    await this.reply("1 10 9 0 3600000", "TB.ACQUIRE", bucket, "10", "1/h");
    for (const [key, kind, seconds] of [[throttle, "gcra", 86400], [bucket, "token-bucket", 3600]]) {
      const [exists, type, ttl, pttl] = await this.client.state(key);
      this.check(exists === 1, `EXISTS: got ${exists}`);
      this.check(type === kind, `TYPE: got ${type}, want ${kind}`);
      this.check(0 < ttl && ttl <= seconds, `TTL: got ${ttl}`);
      this.check(0 < pttl && pttl <= seconds * 1000, `PTTL: got ${pttl}`);
    }

    const deleted = await this.client.del(throttle);
    this.check(deleted === 1, `DEL: got ${deleted}`);
    const state = await this.client.state(throttle);
    this.check(state.join() === "0,none,-2,-2", `after DEL: got ${state}`);
    await this.reply("0 5 4 -1 86400", "CL.THROTTLE", throttle, "4", "1", "86400");
  }

  // Eight clients ask fifty times each for one of fifty tokens.
  async concurrency() {
    const key = await this.fresh("concurrency");
    const clients = await Promise.all(Array.from({ length: 8 }, this.connect));
    const attempts = Array.from({ length: 400 }, (_, i) => clients[i % 8].send("TB.ACQUIRE", key, "50", "1/h"));
    const replies = await Promise.all(attempts);
    const granted = replies.reduce((sum, reply) => sum + reply[0], 0);
    this.check(granted === 50, `concurrency: ${granted} granted of 50`);
    await Promise.all(clients.map((client) => client.close()));
  }

  // The leader changes; the client finds the new one, and takes no more tokens than the limit.
  async follow() {
    const key = await this.fresh("follow");
    for (let i = 0; i < 10; i++) {
      if (i % 3 === 1) {
        this.check((await this.transfer(i)) === "OK", "RAFT TRANSFER");
      }
      await this.reply(`1 10 ${9 - i} 0 *`, "TB.ACQUIRE", key, "10", "1/d");
    }
    await this.reply("0 10 0 + *", "TB.ACQUIRE", key, "10", "1/d");
  }

  check(ok, text) {
    this.checks++;
    if (!ok) {
      this.failures++;
      console.error(`${this.name}: FAILED: ${text}`);
    }
  }

  // fresh returns a new key of this client, reset. All of them are in one slot, because clients for clusters require that
  // of a transaction's keys.
  async fresh(name) {
    const key = `{${this.name}} ${name}`;
    await this.client.del(key);
    return key;
  }

  async reply(want, ...command) {
    const got = await this.client.send(...command);
    this.check(matches(got, want), `${command}: got ${got}, want ${want}`);
  }

  async fails(text, ...command) {
    const got = await this.client.send(...command).catch((error) => error);
    this.check(this.client.isServerError(got) && got.message.includes(text), `${command}: got ${got}, want ${text}`);
  }
}

// matches compares five integers to a pattern: * is any of them, + one above zero.
function matches(reply, pattern) {
  const wants = pattern.split(" ");
  return (
    Array.isArray(reply) &&
    reply.length === wants.length &&
    reply.every((got, i) => Number.isInteger(got) && (wants[i] === "*" || (wants[i] === "+" ? got > 0 : `${got}` === wants[i])))
  );
}
