/** A server in memory with a settable clock, {@link com.stintdb.test.FakeServer}, and real servers, {@link com.stintdb.test.StintServer}, for tests of programs. */
@NullMarked
package com.stintdb.test;

import org.jspecify.annotations.NullMarked;
