/** The part of a middleware for HTTP that no framework needs to write again. */
@NullMarked
package com.stintdb.client.web;

import org.jspecify.annotations.NullMarked;
