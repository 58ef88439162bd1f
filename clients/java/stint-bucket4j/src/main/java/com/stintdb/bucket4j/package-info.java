/** Buckets of Bucket4j whose commands Stint carries out. */
@NullMarked
package com.stintdb.bucket4j;

import org.jspecify.annotations.NullMarked;
