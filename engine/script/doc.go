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
//   - redis.acl_check_cmd, redis.breakpoint, redis.debug and string.dump are absent, load and loadstring read source only,
//     and collectgarbage does nothing.
//   - After redis.setresp(3) the script's own reply is still made in RESP2.
//   - "#" honours __len on tables. xpcall calls its handler after the stack has unwound. Chains of __index end after 8 tables.
//   - Every NaN prints as -nan. exp, sin, powers and their like are the nearest floats (package elementary). In Redis one in
//     a thousand is not; of log10, sinh, cosh and tanh, one in ten or more.
//   - The length of a table with holes is its last index; Redis may find another border.
//   - A text of more than 512 bytes is no number.
package script
