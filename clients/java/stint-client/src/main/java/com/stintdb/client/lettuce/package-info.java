/** The driver on Lettuce. */
@NullMarked
package com.stintdb.client.lettuce;

import org.jspecify.annotations.NullMarked;
