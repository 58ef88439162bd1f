/** A limiter as a bean, with filters, limited methods, meters and health, configured by properties. */
@NullMarked
package com.stintdb.spring;

import org.jspecify.annotations.NullMarked;
