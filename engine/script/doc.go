// Package script runs Lua 5.1 scripts as Redis 7.0 does: EVAL's conversions, libraries and error texts, byte for byte.
//
// Flow: Compile parses the body into a tree (package syntax), and compiles the tree to closures (package interpreter).
// Run takes a machine from a pool, executes, and converts the result to a reply (reply.go). redis.call goes to the
// Caller (redis.go), and the Caller's reply becomes a value (convert.go). Package value has Lua's values, package library
// the functions of string, table, math, cjson and the like, and package ctext reads and writes numbers as C does.
//
// A script is a function of its arguments and the Caller's replies: no clock, no files, random numbers from a fixed
// seed, tables in order of insertion. It ends after a budget of steps (interpreter/budget.go), which is the same on
// every node. Steps pay for time and for memory alike. Nothing outlives a run.
//
// What differs from Redis 7.0:
//
//   - Budget in place of lua-time-limit and SCRIPT KILL. Nesting: 200 calls, and 200 levels of a reply.
//   - Tables iterate in order of insertion; a deleted and restored key keeps its place, and keys that are set while pairs
//     runs are not visited. tostring(table) numbers the objects of a run: table: 0x00000001.
//   - A coroutine may yield across pcall, metamethods and iterators.
//   - redis.acl_check_cmd, redis.breakpoint, redis.debug, math.mod and string.dump are absent, load and loadstring read source
//     only, and collectgarbage does nothing. If load's function raises an error, load raises it too.
//   - A script's own reply has the types of RESP2, also after redis.setresp(3) and for a client that speaks RESP3.
//   - xpcall calls its handler after the stack has unwound, and an error in the handler is its result. Chains of __index end
//     after 8 tables. If table.sort raises an error, it has moved nothing.
//   - Every NaN prints as -nan. Zero has a sign only after the unary minus and in arithmetic on numerals: math.ceil(-0.5) is
//     0, and -0 in Redis. exp, sin, powers and their like are the nearest floats (package elementary). In Redis one in a
//     thousand is not; of log10, sinh, cosh and tanh, one in ten or more.
//   - The length of a table with holes is its last index; Redis may find another border.
//   - A text of more than 512 bytes is no number, nor is nan(1). A zero byte in a pattern stands for itself, and ends the
//     pattern in Redis.
//   - [[ within [[...]] is an error. A function may use more than 60 local variables of the functions around it.
//   - cjson's settings last for one run, and cjson.new shares them. encode_number_precision below 14 does not shorten whole
//     numbers, and encode_invalid_numbers('null') is like false.
//   - cmsgpack.unpack also reads binary data, and unpack_limit reads nothing if the limit is 0, where Redis reads all.
//     struct.unpack reads an integer of more than 8 bytes by its lowest 8.
package script
