/** A limiter as a bean, and a filter for servlets, configured by properties. */
@NullMarked
package com.stintdb.spring;

import org.jspecify.annotations.NullMarked;
