/**
 * Asks a Stint server for each request, and decides when the server does not answer. Begin with {@link com.stintdb.client.Limiter#connect}.
 */
@NullMarked
package com.stintdb.client;

import org.jspecify.annotations.NullMarked;
