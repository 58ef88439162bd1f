/** The seam between a limiter and a server: Lettuce, or a server in memory. */
@NullMarked
package com.stintdb.client.spi;

import org.jspecify.annotations.NullMarked;
